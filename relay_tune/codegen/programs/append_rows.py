"""Appending rows to a tensor, in memory that the caller may give for the result.

    {ptr, i64} append_rows(session, output, old, n, new, k, slices, row, sizes, bytes, error)

`old` and `new` are the addresses of `slices` slices of n and k rows, `row` bytes each. The result
are the object, and how many rows the begins of its slices are apart. Where the caller gives no
memory for component number `output` of the result, it is a new object without more room, with the
`sizes` that take so many `bytes`. Else it is what would be an object of the memory (TENSOR_DATA
before it, nothing is there), and if `old` begins there, its slices are apart as those of the result
and no byte of them is moved; the sizes go to where the caller wants them. Too little room ends the
run with `error`.

    ptr extend(session, tensor, n, new, k, row, axis)

consumes a tensor of n rows, the outermost ones; the result is the same object if it has no other
reference, and its size class has room for k rows more.
"""

from __future__ import annotations

from functools import cache
from math import prod

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import internal
from relay_tune.codegen.llvm_types import BYTES
from relay_tune.codegen.programs.counts import RELEASE, class_number
from relay_tune.codegen.programs.heap import FAIL
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.session import STORES, Store
from relay_tune.codegen.programs.tensor_room import ALLOCATE_OPEN, TENSOR_ROOM, add_open_tensors
from relay_tune.program.instructions import AppendRows, ExtendTensor
from relay_tune.program.kinds import MAXIMUM_OPEN_RANK, TensorKind
from relay_tune.program.layouts import TENSOR_DATA, TENSOR_SHAPE

_APPEND_ROWS = internal(
    "{ ptr, i64 }",
    "append_rows",
    *("ptr", "i64", "ptr", "i64", "ptr", "i64", "i64", "i64", "ptr", "i64", "i64"),
)
_EXTEND = internal("ptr", "extend", "ptr", "ptr", "i64", "ptr", "i64", "i64", "i64")

NO_ROOM = "The memory that was given for a result has too little room for its rows."


def write_append(instruction: AppendRows, objects: ObjectWriter) -> None:
    """Append rows; the sizes of the result are known as those of a borrowed input."""
    names, writer = objects.names, objects.writer
    old, new = names[instruction.old], names[instruction.rows]
    kind, row_kind = instruction.old.kind, instruction.rows.kind
    assert isinstance(kind, TensorKind) and isinstance(row_kind, TensorKind)
    axis = instruction.axis
    sizes = objects.shape(old, kind)
    added = objects.shape(new, row_kind)[axis]
    shape = [*sizes]
    shape[axis] = writer.pure(f"add i64 {sizes[axis]}, {added}")
    slices = objects.product(["1", *sizes[:axis]])
    row = objects.product([str(BYTES[kind.type.dtype]), *sizes[axis + 1 :]])
    table = objects.stack_slot(8 * len(shape))
    for index, size in enumerate(shape):
        writer.line(f"store i64 {size}, ptr {objects.address(table, 8 * index)}, align 8")
    found, result, room = writer.fresh(), writer.fresh("o"), writer.fresh()
    arguments = (
        f"ptr %session, i64 {instruction.output}, ptr {objects.data(old)}, i64 {sizes[axis]}, "
        f"ptr {objects.data(new)}, i64 {added}, i64 {slices}, i64 {row}, ptr {table}, "
        f"i64 {8 * len(shape)}, i64 {objects.message_number(NO_ROOM)}"
    )
    writer.line(f"{found} = call {{ ptr, i64 }} @append_rows({arguments})")
    writer.line(f"{result} = extractvalue {{ ptr, i64 }} {found}, 0")
    writer.line(f"{room} = extractvalue {{ ptr, i64 }} {found}, 1")
    names[instruction.result] = result
    objects.lent_sizes[result] = [*shape, room]


def write_extension(instruction: ExtendTensor, objects: ObjectWriter) -> None:
    """Extend a tensor by rows."""
    names, writer = objects.names, objects.writer
    kind, row_kind = instruction.old.kind, instruction.rows.kind
    assert isinstance(kind, TensorKind) and isinstance(row_kind, TensorKind)
    axis = instruction.axis
    old, new = names[instruction.old], names[instruction.rows]
    count = objects.shape(new, row_kind)[axis]
    inner = (dim for dim in kind.type.shape[axis + 1 :] if isinstance(dim, int))
    row = prod(inner) * BYTES[kind.type.dtype]
    result = names[instruction.result] = writer.fresh("o")
    writer.line(
        f"{result} = call ptr @extend(ptr %session, ptr {old}, i64 {objects.size(old, axis)}, "
        f"ptr {objects.data(new)}, i64 {count}, i64 {row}, i64 {axis})"
    )


_SIZES = 8 * MAXIMUM_OPEN_RANK


@cache
def append_part() -> NativeModule:
    """The functions, with those that make tensors."""
    module = NativeModule()
    add_open_tensors(module)
    with module.define(_APPEND_ROWS) as code:
        _write_append_rows(code)
    with module.define(_EXTEND) as code:
        _write_extend(code)
    return module


def _write_append_rows(code: FunctionBuilder) -> None:
    session, output, old, n, new, k, slices, row, sizes, bytes_, error = code.parameters
    total, kept, added = n + k, n * row, k * row
    result, target = code.local(code.null), code.local(code.null)
    apart, is_there = code.local(total), code.local(code.number(False, "i1"))
    with code.block() as begun:
        with code.block() as own:
            stores = session.at("ptr", STORES).load()
            own.leave_if(stores.is_null())
            store, room, told = stores.entry(Store, output).words(*Store)
            own.leave_if(store.is_null())
            with code.when(room.slt(total)):
                code.call(FAIL, session, error)
            with code.when(~told.is_null()):
                code.copy(told, sizes, bytes_)
            result.set(store.offset(-TENSOR_DATA))
            target.set(store)
            apart.set(room)
            is_there.set(store.eq(old))
            begun.leave()
        result.set(code.call(ALLOCATE_OPEN, session, slices * row * total))
        code.copy(result.value.offset(TENSOR_SHAPE), sizes, bytes_)
        target.set(result.value.offset(TENSOR_DATA))
    with code.count(slices) as each:
        to = target.value.offset(each.index * (apart.value * row))
        with code.when(~is_there.value):
            code.copy(to, old.offset(each.index * kept), kept)
        code.copy(to.offset(kept), new.offset(each.index * added), added)
    code.ret(code.pack(result.value, apart.value))


def _write_extend(code: FunctionBuilder) -> None:
    session, tensor, n, new, k, row, axis = code.parameters
    total = n + k
    bytes_, kept = total * row, n * row
    result, is_moved = code.local(tensor), code.local(code.number(False, "i1"))
    with code.block() as found:
        with code.when(tensor.load("i32").eq(1)):
            wanted = code.call(TENSOR_ROOM, bytes_).part(0)
            found.leave_if(wanted.ule(class_number(tensor)))
        other = code.call(ALLOCATE_OPEN, session, bytes_ + bytes_.lshr(1))
        code.copy(other.offset(TENSOR_SHAPE), tensor.offset(TENSOR_SHAPE), _SIZES)
        code.copy(other.offset(TENSOR_DATA), tensor.offset(TENSOR_DATA), kept)
        result.set(other)
        is_moved.set(True)
    code.copy(result.value.offset(TENSOR_DATA).offset(kept), new, k * row)
    result.value.offset(TENSOR_SHAPE).item("i64", axis).store(total)
    with code.when(is_moved.value):
        code.call(RELEASE, session, tensor)
    code.ret(result.value)
