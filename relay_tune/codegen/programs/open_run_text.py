"""`NAME_run` of programs with sizes that are known at run time only, as LLVM IR.

    i32  NAME_run(ptr inputs, ptr input_shapes, ptr outputs, ptr output_shapes, i32 threads)
    i32  NAME_run_into(ptr inputs, ptr input_shapes, ptr outputs, ptr output_shapes, ptr rooms,
                       i32 threads)
    void NAME_free(ptr output)

The sizes of the inputs are compared with the types; the program is run in a session, and the
outputs are given away: large ones are taken out of the session's heap, of small ones a copy. All
begin HEAD_BYTES behind the start of their memory, which `NAME_free` gives back. After an error
there are no outputs. `NAME_run_into`, where outputs may be inputs with more rows, takes memory for
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.plain_interface import PlainInterface, PlainTensor
from relay_tune.codegen.programs.program_text import entry_symbol
from relay_tune.codegen.programs.region_text import REGION_HEAD_BYTES
from relay_tune.codegen.programs.session import (
    FIRST_MESSAGE,
    NO_MEMORY,
    STORE,
    STORES,
    WRONG_PROCESSOR,
)
from relay_tune.codegen.size_writer import SizeWriter
from relay_tune.first_order.layouts import TENSOR_DATA, TENSOR_SHAPE
from relay_tune.ir.dim import Dim, Polynomial, Symbol
from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.ir.dtypes import DTYPES
from relay_tune.tensor.size import size_value, symbolic_size

HEAD_BYTES = REGION_HEAD_BYTES + TENSOR_DATA
"""What stands before the elements of a tensor that is alone in its memory."""


def open_run_text(program: CompiledFunctions, plain: PlainInterface, name: str) -> str:
    """The functions of the library `name`; they need those of `plain_text`."""
    entry, count = entry_symbol("main"), len(plain.outputs)
    appended = program.program.entries["main"].appended
    return "\n".join(
        [
            _GIVING.format(name=name, head=HEAD_BYTES, data=TENSOR_DATA, sizes=TENSOR_SHAPE),
            _check_text(plain, FIRST_MESSAGE + len(program.messages)),
            _call_text(plain, entry),
            _give_text(plain, name, {each.output for each in appended}),
            *([_INTO.format(name=name, outputs=count, store=STORE)] if appended else []),
            _RUN.format(
                name=name,
                no_memory=NO_MEMORY,
                wrong_processor=WRONG_PROCESSOR,
                outputs=count,
                bytes=8 * count,
                room=max(count, 1),
            ),
        ]
    )


def _check_text(plain: PlainInterface, first: int) -> str:
    """0 where the sizes of all inputs fit, else the error of the first input that does not."""
    writer = _SizeChecks(first)
    for number, each in enumerate(plain.inputs):
        writer.write_known(number, each)
    for number, each in enumerate(plain.inputs):
        writer.write_computed(number, each)
    return writer.text()


class _SizeChecks:
    """Writes comparisons of the sizes of inputs with their types.

    A symbol is the size where it stands first. Arithmetic of symbols comes when all are known.
    """

    def __init__(self, first: int) -> None:
        """`first` is the error of the first input."""
        self._first = first
        self._writer = FunctionWriter()
        self._sizes: dict[tuple[int, int], str] = {}
        self._symbols: dict[str, str] = {}

    def write_known(self, number: int, tensor: PlainTensor) -> None:
        """Compare the sizes of an input with numbers and symbols."""
        writer = self._writer
        if not tensor.shape:
            return
        shape = _loaded(writer, "%shapes", number)
        for axis, dim in enumerate(tensor.type.shape):
            address = writer.pure(f"getelementptr i64, ptr {shape}, i64 {axis}")
            size = writer.pure(f"load i64, ptr {address}, align 8")
            self._sizes[number, axis] = size
            if isinstance(dim, int):
                self._require(f"icmp eq i64 {size}, {dim}", number)
                continue
            self._require(f"icmp sge i64 {size}, 0", number)
            if isinstance(dim, Symbol):
                known = self._symbols.setdefault(dim.name, size)
                if known != size:
                    self._require(f"icmp eq i64 {size}, {known}", number)

    def write_computed(self, number: int, tensor: PlainTensor) -> None:
        """Compare the sizes of an input with arithmetic of symbols."""
        for axis, dim in enumerate(tensor.type.shape):
            if isinstance(dim, Polynomial) and symbol_names(dim) <= self._symbols.keys():
                wanted = _computed(dim, self._symbols, self._writer)
                self._require(f"icmp eq i64 {self._sizes[number, axis]}, {wanted}", number)

    def text(self) -> str:
        """The whole function."""
        head = "define internal i32 @check_sizes(ptr %shapes) nounwind {\nentry:\n"
        return f"{head}{self._writer.text()}\n  ret i32 0\n}}"

    def _require(self, condition: str, number: int) -> None:
        writer = self._writer
        fits, label = writer.pure(condition), writer.fresh("fits").removeprefix("%")
        writer.line(f"br i1 {fits}, label %{label}, label %{label}.not")
        writer.start_block(f"{label}.not")
        writer.line(f"ret i32 {self._first + number}")
        writer.start_block(label)


def _computed(dim: Dim, symbols: Mapping[str, str], writer: FunctionWriter) -> str:
    """A size as an operand."""
    sizes = {name: symbolic_size(Symbol(name), 1) for name in symbols}
    return SizeWriter(symbols, writer.pure).text(size_value(dim, sizes))


def _call_text(plain: PlainInterface, entry: str) -> str:
    """Calls the program: fills its tables, with memory for the outputs of known sizes."""
    writer = FunctionWriter()
    words: list[str] = []
    for number, each in enumerate(plain.inputs):
        words.append(_loaded(writer, "%inputs", number))
        if each.is_open:
            words.append(_loaded(writer, "%shapes", number))
    _store(writer, "%words", words)
    rooms: list[str] = []
    for number, each in enumerate(plain.outputs):
        if each.is_open:
            rooms.append(writer.pure(f"getelementptr ptr, ptr %objects, i64 {number}"))
            continue
        place = writer.pure(f"getelementptr ptr, ptr %outputs, i64 {number}")
        rooms.append(writer.fresh("room"))
        writer.line(f"{rooms[-1]} = call ptr @new_output(i64 {each.bytes})")
        writer.line(f"store ptr {rooms[-1]}, ptr {place}, align 8")
        has_room, label = writer.pure(f"icmp ne ptr {rooms[-1]}, null"), f"room{number}"
        writer.line(f"br i1 {has_room}, label %{label}, label %poor")
        writer.start_block(label)
    _store(writer, "%rooms", rooms)
    return "\n".join(
        [
            "define internal i32 @call_program(ptr %session, ptr %inputs, ptr %shapes, "
            "ptr %outputs, ptr %objects, ptr %stores) nounwind {",
            "entry:",
            f"  %words = alloca [{max(len(words), 1)} x ptr], align 8",
            f"  %rooms = alloca [{max(len(rooms), 1)} x ptr], align 8",
            writer.text(),
            f"  %stores_at = getelementptr i8, ptr %session, i64 {STORES}",
            "  store ptr %stores, ptr %stores_at, align 8",
            f"  %error = call i32 @{entry}(ptr %session, ptr %words, ptr %rooms)",
            "  store ptr null, ptr %stores_at, align 8",
            "  ret i32 %error",
            "poor:",
            f"  ret i32 {NO_MEMORY}",
            "}",
        ]
    )


def _give_text(plain: PlainInterface, name: str, appended: Set[int]) -> str:
    """Gives the elements of the objects of outputs away, and writes the sizes of all outputs."""
    writer = FunctionWriter()
    for number, each in enumerate(plain.outputs):
        rank = len(each.shape)
        if not rank:
            continue
        sizes = _loaded(writer, "%shapes", number)
        if not each.is_open:
            known = f"@{name}_output_shape.{number}"
            writer.line(_COPY.format(target=sizes, source=known, bytes=8 * rank))
            continue
        object_ = _loaded(writer, "%objects", number)
        place = writer.pure(f"getelementptr ptr, ptr %outputs, i64 {number}")
        if number in appended:
            _write_stored(writer, number, place)
        given = writer.fresh("given")
        item = DTYPES[each.type.dtype].itemsize
        writer.line(
            f"{given} = call i1 @give(ptr %session, ptr {object_}, ptr {place}, ptr {sizes}, "
            f"i64 {rank}, i64 {item})"
        )
        writer.line(f"br i1 {given}, label %next{number}, label %poor")
        writer.start_block(f"next{number}")
    return "\n".join(
        [
            "define internal i1 @give_outputs(ptr %session, ptr %objects, ptr %outputs, "
            "ptr %shapes, ptr %stores) nounwind {",
            "entry:",
            writer.text(),
            "  ret i1 true",
            "poor:",
            "  ret i1 false",
            "}",
        ]
    )


def _write_stored(writer: FunctionWriter, number: int, place: str) -> None:
    """Go on with the next output where memory was given for one, which lies there."""
    writer.line(f"%none{number} = icmp eq ptr %stores, null")
    writer.line(f"br i1 %none{number}, label %own{number}, label %look{number}")
    writer.start_block(f"look{number}")
    writer.line(f"%store{number} = getelementptr {STORE}, ptr %stores, i64 {number}")
    writer.line(f"%memory{number} = load ptr, ptr %store{number}, align 8")
    writer.line(f"store ptr %memory{number}, ptr {place}, align 8")
    writer.line(f"%unset{number} = icmp eq ptr %memory{number}, null")
    writer.line(f"br i1 %unset{number}, label %own{number}, label %next{number}")
    writer.start_block(f"own{number}")


def _loaded(writer: FunctionWriter, table: str, number: int) -> str:
    """A pointer of a table."""
    place = writer.pure(f"getelementptr ptr, ptr {table}, i64 {number}")
    return writer.pure(f"load ptr, ptr {place}, align 8")


def _store(writer: FunctionWriter, table: str, pointers: list[str]) -> None:
    for number, pointer in enumerate(pointers):
        place = writer.pure(f"getelementptr ptr, ptr {table}, i64 {number}")
        writer.line(f"store ptr {pointer}, ptr {place}, align 8")


_COPY = "call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {bytes}, i1 false)"

_GIVING = """\
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare ptr @relay_tune_hand_over(ptr)
declare void @relay_tune_release(ptr, ptr)

define internal ptr @new_output(i64 %bytes) nounwind {{
entry:
  %room = alloca ptr, align 8
  %all = add i64 %bytes, {head}
  %failed = call i32 @posix_memalign(ptr %room, i64 64, i64 %all)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %poor, label %fine
fine:
  %memory = load ptr, ptr %room, align 8
  %elements = getelementptr i8, ptr %memory, i64 {head}
  ret ptr %elements
poor:
  ret ptr null
}}

define void @{name}_free(ptr %output) nounwind {{
entry:
  %none = icmp eq ptr %output, null
  br i1 %none, label %end, label %give
give:
  %memory = getelementptr i8, ptr %output, i64 -{head}
  call void @free(ptr %memory)
  br label %end
end:
  ret void
}}

define internal void @drop_outputs(ptr %outputs, i64 %count) nounwind {{
entry:
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %drop ]
  %all = icmp eq i64 %number, %count
  br i1 %all, label %end, label %drop
drop:
  %following = add i64 %number, 1
  %place = getelementptr ptr, ptr %outputs, i64 %number
  %output = load ptr, ptr %place, align 8
  call void @{name}_free(ptr %output)
  store ptr null, ptr %place, align 8
  br label %next
end:
  ret void
}}

define internal i1 @give(ptr %session, ptr %object, ptr %place, ptr %shape, i64 %rank,
                         i64 %item) nounwind {{
entry:
  %sizes = getelementptr i8, ptr %object, i64 {sizes}
  %shape_bytes = shl i64 %rank, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %shape, ptr %sizes, i64 %shape_bytes, i1 false)
  %elements = getelementptr i8, ptr %object, i64 {data}
  %memory = call ptr @relay_tune_hand_over(ptr %object)
  %stays = icmp eq ptr %memory, null
  br i1 %stays, label %next, label %fine
next:
  %axis = phi i64 [ 0, %entry ], [ %following, %more ]
  %bytes = phi i64 [ %item, %entry ], [ %product, %more ]
  %all = icmp eq i64 %axis, %rank
  br i1 %all, label %copy, label %more
more:
  %following = add i64 %axis, 1
  %size_at = getelementptr i64, ptr %sizes, i64 %axis
  %size = load i64, ptr %size_at, align 8
  %product = mul i64 %bytes, %size
  br label %next
copy:
  %new = call ptr @new_output(i64 %bytes)
  %none = icmp eq ptr %new, null
  br i1 %none, label %poor, label %fill
fill:
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %elements, i64 %bytes, i1 false)
  call void @relay_tune_release(ptr %session, ptr %object)
  br label %fine
fine:
  %given = phi ptr [ %elements, %entry ], [ %new, %fill ]
  store ptr %given, ptr %place, align 8
  ret i1 true
poor:
  ret i1 false
}}
"""

_INTO = """\
define i32 @{name}_run_into(ptr %inputs, ptr %input_shapes, ptr %outputs, ptr %output_shapes,
                            ptr %rooms, i32 %threads) nounwind {{
entry:
  %stores = alloca [{outputs} x {store}], align 8
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %one ]
  %all = icmp eq i64 %number, {outputs}
  br i1 %all, label %run, label %one
one:
  %room_at = getelementptr i64, ptr %rooms, i64 %number
  %room = load i64, ptr %room_at, align 8
  %output_at = getelementptr ptr, ptr %outputs, i64 %number
  %output = load ptr, ptr %output_at, align 8
  %given = icmp sgt i64 %room, 0
  %memory = select i1 %given, ptr %output, ptr null
  %shape_at = getelementptr ptr, ptr %output_shapes, i64 %number
  %shape = load ptr, ptr %shape_at, align 8
  %store_at = getelementptr {store}, ptr %stores, i64 %number
  %with_memory = insertvalue {store} poison, ptr %memory, 0
  %with_room = insertvalue {store} %with_memory, i64 %room, 1
  %whole = insertvalue {store} %with_room, ptr %shape, 2
  store {store} %whole, ptr %store_at, align 8
  %following = add i64 %number, 1
  br label %next
run:
  %result = call i32 @run_with(ptr %inputs, ptr %input_shapes, ptr %outputs, ptr %output_shapes,
                               i32 %threads, ptr %stores)
  ret i32 %result
}}
"""

_RUN = """\
define i32 @{name}_run(ptr %inputs, ptr %input_shapes, ptr %outputs, ptr %output_shapes,
                       i32 %threads) nounwind {{
  %result = call i32 @run_with(ptr %inputs, ptr %input_shapes, ptr %outputs, ptr %output_shapes,
                               i32 %threads, ptr null)
  ret i32 %result
}}

define internal i32 @run_with(ptr %inputs, ptr %input_shapes, ptr %outputs, ptr %output_shapes,
                              i32 %threads, ptr %stores) nounwind {{
entry:
  %objects = alloca [{room} x ptr], align 8
  call void @llvm.memset.p0.i64(ptr %outputs, i8 0, i64 {bytes}, i1 false)
  %able = call i1 @is_able()
  br i1 %able, label %check, label %unable
check:
  %misfit = call i32 @check_sizes(ptr %input_shapes)
  %fits = icmp eq i32 %misfit, 0
  br i1 %fits, label %take, label %refuse
take:
  %session = call ptr @take_session(i32 %threads)
  %none = icmp eq ptr %session, null
  br i1 %none, label %poor, label %run
run:
  %error = call i32 @call_program(ptr %session, ptr %inputs, ptr %input_shapes, ptr %outputs,
                                  ptr %objects, ptr %stores)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %drop, label %give
give:
  %given = call i1 @give_outputs(ptr %session, ptr %objects, ptr %outputs, ptr %output_shapes,
                                ptr %stores)
  br i1 %given, label %leave, label %empty
empty:
  call void @relay_tune_reset(ptr %session)
  br label %drop
drop:
  %number = phi i32 [ %error, %run ], [ {no_memory}, %empty ]
  call void @drop_outputs(ptr %outputs, i64 {outputs})
  br label %leave
leave:
  %result = phi i32 [ 0, %give ], [ %number, %drop ]
  call void @leave_session(ptr %session, i32 %result)
  ret i32 %result
refuse:
  ret i32 %misfit
poor:
  ret i32 {no_memory}
unable:
  ret i32 {wrong_processor}
}}
"""
