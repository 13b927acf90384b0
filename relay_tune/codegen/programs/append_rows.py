"""Appending rows to a tensor, in memory that the caller may give for the result.

    {ptr, i64} append_rows(session, output, old, n, new, k, slices, row, sizes, bytes, error)

`old` and `new` are the addresses of `slices` slices of n and k rows, `row` bytes each. The result
are the object, and how many rows the begins of its slices are apart. Where the caller gives no
memory for component number `output` of the result, it is a new object without more room, with the
`sizes` that take so many `bytes`. Else it is what would be an object of the memory (TENSOR_DATA
before it, nothing is there), and if `old` begins there, its slices are apart as those of the result
and no byte of them is moved; the sizes go to where the caller wants them. Too little room ends the
run with `error`.
"""

from __future__ import annotations

from relay_tune.codegen.llvm_types import BYTES
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.session import STORE, STORES
from relay_tune.first_order.instructions import AppendRows
from relay_tune.first_order.kinds import TensorKind
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
"""
