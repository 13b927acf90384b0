"""`NAME_run` of programs with sizes that are known at run time only, as LLVM IR.

    i32  NAME_run(ptr inputs, ptr input_shapes, ptr outputs, ptr output_shapes, i32 threads)
    i32  NAME_run_into(ptr inputs, ptr input_shapes, ptr outputs, ptr output_shapes, ptr rooms,
                       i32 threads)
    void NAME_free(ptr output)

The sizes of the inputs are compared with the types; the program is run in a session, and the
outputs are given to the caller (`giving_text`). After an error there are no outputs.
`NAME_run_into`, where outputs may be inputs with more rows, takes memory for them.
"""

from __future__ import annotations

from collections.abc import Set

from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.giving_text import giving_text
from relay_tune.codegen.programs.plain_interface import PlainInterface
from relay_tune.codegen.programs.program_text import entry_symbol
from relay_tune.codegen.programs.session import (
    FIRST_MESSAGE,
    NO_MEMORY,
    STORE,
    STORES,
    WRONG_PROCESSOR,
)
from relay_tune.codegen.programs.size_check_text import size_check_text
from relay_tune.ir.dtypes import DTYPES


def open_run_text(program: CompiledFunctions, plain: PlainInterface, name: str) -> str:
    """The functions of the library `name`; they need those of `plain_text`."""
    entry, count = entry_symbol("main"), len(plain.outputs)
    appended = program.program.entries["main"].appended
    return "\n".join(
        [
            giving_text(name),
            size_check_text(plain, FIRST_MESSAGE + len(program.messages)),
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
            _skip_stored(writer, number)
        given = writer.fresh("given")
        item = DTYPES[each.type.dtype].itemsize
        writer.line(
            f"{given} = call i1 @give(ptr %session, ptr {object_}, ptr {place}, ptr {sizes}, "
            f"i64 {rank}, i64 {item})"
        )
        writer.line(f"br i1 {given}, label %next{number}, label %poor")
        writer.start_block(f"next{number}")
    _write_stored(writer, appended)
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


def _skip_stored(writer: FunctionWriter, number: int) -> None:
    """Go on with the next output where memory was given for one, which lies there."""
    writer.line(f"%none{number} = icmp eq ptr %stores, null")
    writer.line(f"br i1 %none{number}, label %own{number}, label %look{number}")
    writer.start_block(f"look{number}")
    writer.line(f"%store{number} = getelementptr {STORE}, ptr %stores, i64 {number}")
    writer.line(f"%memory{number} = load ptr, ptr %store{number}, align 8")
    writer.line(f"%unset{number} = icmp eq ptr %memory{number}, null")
    writer.line(f"br i1 %unset{number}, label %own{number}, label %next{number}")
    writer.start_block(f"own{number}")


def _write_stored(writer: FunctionWriter, appended: Set[int]) -> None:
    """Put memory that was given for outputs in their places: only now, as errors drop outputs."""
    writer.line("%has_stores = icmp ne ptr %stores, null")
    writer.line("br i1 %has_stores, label %stored, label %done")
    writer.start_block("stored")
    for number in sorted(appended):
        at = writer.pure(f"getelementptr {STORE}, ptr %stores, i64 {number}")
        memory = writer.pure(f"load ptr, ptr {at}, align 8")
        place = writer.pure(f"getelementptr ptr, ptr %outputs, i64 {number}")
        given, chosen = writer.fresh("given"), writer.fresh("chosen")
        unset = writer.pure(f"icmp eq ptr {memory}, null")
        writer.line(f"{given} = load ptr, ptr {place}, align 8")
        writer.line(f"{chosen} = select i1 {unset}, ptr {given}, ptr {memory}")
        writer.line(f"store ptr {chosen}, ptr {place}, align 8")
    writer.line("br label %done")
    writer.start_block("done")


def _loaded(writer: FunctionWriter, table: str, number: int) -> str:
    """A pointer of a table."""
    place = writer.pure(f"getelementptr ptr, ptr {table}, i64 {number}")
    return writer.pure(f"load ptr, ptr {place}, align 8")


def _store(writer: FunctionWriter, table: str, pointers: list[str]) -> None:
    for number, pointer in enumerate(pointers):
        place = writer.pure(f"getelementptr ptr, ptr {table}, i64 {number}")
        writer.line(f"store ptr {pointer}, ptr {place}, align 8")


_COPY = "call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {bytes}, i1 false)"

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
