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

from math import prod

from relay_tune.codegen.llvm_types import BYTES
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.session import STORE, STORES
from relay_tune.first_order.instructions import AppendRows, ExtendTensor
from relay_tune.first_order.kinds import MAXIMUM_OPEN_RANK, TensorKind
from relay_tune.first_order.layouts import TENSOR_DATA, TENSOR_SHAPE

NO_ROOM = "The memory that was given for a result has too little room for its rows."


def write_append(instruction: AppendRows, objects: ObjectWriter) -> None:
    """Append rows; the sizes of the result are known as those of a lent input."""
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
    for place, size in enumerate(shape):
        writer.line(f"store i64 {size}, ptr {objects.address(table, 8 * place)}, align 8")
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

APPEND_TEXT = f"""\
define internal {{ ptr, i64 }} @append_rows(ptr %session, i64 %output, ptr %old, i64 %n, ptr %new,
    i64 %k, i64 %slices, i64 %row, ptr %sizes, i64 %bytes, i64 %error) nounwind {{
entry:
  %total = add i64 %n, %k
  %kept = mul i64 %n, %row
  %added = mul i64 %k, %row
  %stores_at = getelementptr i8, ptr %session, i64 {STORES}
  %stores = load ptr, ptr %stores_at, align 8
  %no_stores = icmp eq ptr %stores, null
  br i1 %no_stores, label %own, label %look
look:
  %store_at = getelementptr {STORE}, ptr %stores, i64 %output
  %store = load ptr, ptr %store_at, align 8
  %room_at = getelementptr i8, ptr %store_at, i64 8
  %room = load i64, ptr %room_at, align 8
  %no_store = icmp eq ptr %store, null
  br i1 %no_store, label %own, label %check
check:
  %is_small = icmp slt i64 %room, %total
  br i1 %is_small, label %small, label %given
small:
  call void @fail(ptr %session, i64 %error)
  unreachable
given:
  %before = getelementptr i8, ptr %store, i64 -{TENSOR_DATA}
  %is_there = icmp eq ptr %store, %old
  %told_at = getelementptr i8, ptr %store_at, i64 16
  %told = load ptr, ptr %told_at, align 8
  %untold = icmp eq ptr %told, null
  br i1 %untold, label %begin, label %tell
tell:
  call void @llvm.memcpy.p0.p0.i64(ptr %told, ptr %sizes, i64 %bytes, i1 false)
  br label %begin
own:
  %all = mul i64 %slices, %row
  %size = mul i64 %all, %total
  %object = call ptr @allocate_open(ptr %session, i64 %size)
  %shape = getelementptr i8, ptr %object, i64 {TENSOR_SHAPE}
  call void @llvm.memcpy.p0.p0.i64(ptr %shape, ptr %sizes, i64 %bytes, i1 false)
  %elements = getelementptr i8, ptr %object, i64 {TENSOR_DATA}
  br label %begin
begin:
  %result = phi ptr [ %before, %given ], [ %before, %tell ], [ %object, %own ]
  %target = phi ptr [ %store, %given ], [ %store, %tell ], [ %elements, %own ]
  %apart = phi i64 [ %room, %given ], [ %room, %tell ], [ %total, %own ]
  %done = phi i1 [ %is_there, %given ], [ %is_there, %tell ], [ false, %own ]
  %step = mul i64 %apart, %row
  br label %next
next:
  %slice = phi i64 [ 0, %begin ], [ %following, %rows ]
  %is_end = icmp eq i64 %slice, %slices
  br i1 %is_end, label %end, label %one
one:
  %offset = mul i64 %slice, %step
  %to = getelementptr i8, ptr %target, i64 %offset
  br i1 %done, label %rows, label %copy
copy:
  %old_offset = mul i64 %slice, %kept
  %from = getelementptr i8, ptr %old, i64 %old_offset
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %kept, i1 false)
  br label %rows
rows:
  %behind = getelementptr i8, ptr %to, i64 %kept
  %new_offset = mul i64 %slice, %added
  %row_from = getelementptr i8, ptr %new, i64 %new_offset
  call void @llvm.memcpy.p0.p0.i64(ptr %behind, ptr %row_from, i64 %added, i1 false)
  %following = add i64 %slice, 1
  br label %next
end:
  %first = insertvalue {{ ptr, i64 }} poison, ptr %result, 0
  %both = insertvalue {{ ptr, i64 }} %first, i64 %apart, 1
  ret {{ ptr, i64 }} %both
}}

define internal ptr @extend(ptr %session, ptr %tensor, i64 %n, ptr %new, i64 %k, i64 %row,
                            i64 %axis) nounwind {{
entry:
  %total = add i64 %n, %k
  %bytes = mul i64 %total, %row
  %kept = mul i64 %n, %row
  %added = mul i64 %k, %row
  %data = getelementptr i8, ptr %tensor, i64 {TENSOR_DATA}
  %count = load i32, ptr %tensor, align 8
  %is_own = icmp eq i32 %count, 1
  br i1 %is_own, label %look, label %move
look:
  %found = call {{ i64, i64 }} @tensor_room(i64 %bytes)
  %wanted = extractvalue {{ i64, i64 }} %found, 0
  %class_at = getelementptr i8, ptr %tensor, i64 4
  %class16 = load i16, ptr %class_at, align 4
  %class = zext i16 %class16 to i64
  %has_room = icmp ule i64 %wanted, %class
  br i1 %has_room, label %write, label %move
move:
  %half = lshr i64 %bytes, 1
  %room = add i64 %bytes, %half
  %other = call ptr @allocate_open(ptr %session, i64 %room)
  %shape = getelementptr i8, ptr %tensor, i64 {TENSOR_SHAPE}
  %other_shape = getelementptr i8, ptr %other, i64 {TENSOR_SHAPE}
  call void @llvm.memcpy.p0.p0.i64(ptr %other_shape, ptr %shape, i64 {_SIZES},
                                       i1 false)
  %other_data = getelementptr i8, ptr %other, i64 {TENSOR_DATA}
  call void @llvm.memcpy.p0.p0.i64(ptr %other_data, ptr %data, i64 %kept, i1 false)
  br label %write
write:
  %object = phi ptr [ %tensor, %look ], [ %other, %move ]
  %moved = phi i1 [ false, %look ], [ true, %move ]
  %elements = getelementptr i8, ptr %object, i64 {TENSOR_DATA}
  %behind = getelementptr i8, ptr %elements, i64 %kept
  call void @llvm.memcpy.p0.p0.i64(ptr %behind, ptr %new, i64 %added, i1 false)
  %sizes = getelementptr i8, ptr %object, i64 {TENSOR_SHAPE}
  %size_at = getelementptr i64, ptr %sizes, i64 %axis
  store i64 %total, ptr %size_at, align 8
  br i1 %moved, label %release, label %end
release:
  call void @release(ptr %session, ptr %tensor)
  br label %end
end:
  ret ptr %object
}}
"""
