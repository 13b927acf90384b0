"""Objects described flatly, as LLVM IR: how callers get large values quickly.

    i64 relay_tune_read(ptr roots, i64 count, ptr objects, i64 room, ptr rows, i64 width)
    void relay_tune_gather(ptr tensors, i64 count, i64 bytes, ptr elements)

`read` goes through all that can be reached from the objects in `roots`. Those that are neither
static nor tensors are numbered as they are met; the result is how many there are, or -1 if there
may be more than `room`. Then `objects` has the layout number of each, and `rows`, of `width` words,
have their fields, a word for each. A field is the bits of a scalar, the address of a tensor, the
number of an object, or a layout number less than zero for the static object of that layout; so is
what stands in `roots` then.

A number is kept, plus one, in the link of the object that has it while `read` runs; links of living
objects are 0. `gather` copies the elements of tensors, `bytes` each, one after the other.
"""

from __future__ import annotations

from relay_tune.codegen.programs.layout_tables import (
    COUNTED_FIELD,
    FORMS,
    Form,
    field_switch_lines,
    layout_number_lines,
)
from relay_tune.codegen.word_table import load_entry
from relay_tune.first_order.layouts import TENSOR_DATA, TENSOR_LAYOUT

READ_SYMBOLS = ("relay_tune_read", "relay_tune_gather")


def read_text() -> str:
    """The functions; they need the tables of the layouts."""
    return _TEMPLATE.format(
        object_layout=layout_number_lines("%object", "%layout"),
        numbered_layout=layout_number_lines("%numbered", "%numbered_layout"),
        field_switch=field_switch_lines("%object", "%part_at"),
        counted=COUNTED_FIELD,
        tensor=TENSOR_LAYOUT,
        data=TENSOR_DATA,
        load_form=load_entry("%form", FORMS, "%layout", Form.COUNT, Form.FIELDS, prefix="form_"),
    )


_TEMPLATE = """\
define internal i64 @number_object(ptr %object, ptr %objects, ptr %count_at) nounwind {{
entry:
  %address = ptrtoint ptr %object to i64
{object_layout}
  %is_tensor = icmp eq i64 %layout, {tensor}
  br i1 %is_tensor, label %tensor, label %look
tensor:
  ret i64 %address
look:
  %references = load i32, ptr %object, align 8
  %is_static = icmp slt i32 %references, 0
  br i1 %is_static, label %static, label %counted
static:
  %below = sub i64 0, %layout
  ret i64 %below
counted:
  %link_at = getelementptr i8, ptr %object, i64 8
  %link = load i64, ptr %link_at, align 8
  %is_new = icmp eq i64 %link, 0
  br i1 %is_new, label %new, label %known
known:
  %number = sub i64 %link, 1
  ret i64 %number
new:
  %count = load i64, ptr %count_at, align 8
  %more = add i64 %count, 1
  store i64 %more, ptr %count_at, align 8
  store i64 %more, ptr %link_at, align 8
  %object_at = getelementptr i64, ptr %objects, i64 %count
  store i64 %address, ptr %object_at, align 8
  ret i64 %count
}}

define i64 @relay_tune_read(ptr %roots, i64 %root_count, ptr %objects, i64 %room, ptr %rows,
                            i64 %width) nounwind {{
entry:
  %count_at = alloca i64, align 8
  store i64 0, ptr %count_at, align 8
  %small = icmp ugt i64 %root_count, %room
  br i1 %small, label %poor, label %root
poor:
  ret i64 -1
root:
  %root_number = phi i64 [ 0, %entry ], [ %next_root, %number_root ]
  %no_root = icmp eq i64 %root_number, %root_count
  br i1 %no_root, label %next, label %number_root
number_root:
  %next_root = add i64 %root_number, 1
  %root_at = getelementptr i64, ptr %roots, i64 %root_number
  %root_object = load ptr, ptr %root_at, align 8
  %root_word = call i64 @number_object(ptr %root_object, ptr %objects, ptr %count_at)
  store i64 %root_word, ptr %root_at, align 8
  br label %root
next:
  %place = phi i64 [ 0, %root ], [ %following, %field ]
  %count = load i64, ptr %count_at, align 8
  %end = icmp eq i64 %place, %count
  br i1 %end, label %clean, label %open
open:
  %following = add i64 %place, 1
  %object_at = getelementptr i64, ptr %objects, i64 %place
  %object = load ptr, ptr %object_at, align 8
{object_layout}
{load_form}
  %begin = mul i64 %place, %width
  %most = add i64 %count, %form_count
  %full = icmp ugt i64 %most, %room
  br i1 %full, label %clean, label %field
field:
  %index = phi i64 [ 0, %open ], [ %next_index, %write ]
  %all = icmp eq i64 %index, %form_count
  br i1 %all, label %next, label %load
load:
  %next_index = add i64 %index, 1
{field_switch}
byte:
  %value8 = load i8, ptr %part_at, align 1
  %wide8 = zext i8 %value8 to i64
  br label %write
two_bytes:
  %value16 = load i16, ptr %part_at, align 2
  %wide16 = zext i16 %value16 to i64
  br label %write
four_bytes:
  %value32 = load i32, ptr %part_at, align 4
  %wide32 = zext i32 %value32 to i64
  br label %write
eight:
  %value64 = load i64, ptr %part_at, align 8
  %is_pointer = icmp uge i64 %described, {counted}
  br i1 %is_pointer, label %pointer, label %write
pointer:
  %part = inttoptr i64 %value64 to ptr
  %number = call i64 @number_object(ptr %part, ptr %objects, ptr %count_at)
  br label %write
write:
  %word = phi i64 [ %wide8, %byte ], [ %wide16, %two_bytes ], [ %wide32, %four_bytes ],
          [ %value64, %eight ], [ %number, %pointer ]
  %word_place = add i64 %begin, %index
  %word_at = getelementptr i64, ptr %rows, i64 %word_place
  store i64 %word, ptr %word_at, align 8
  br label %field
clean:
  %result = phi i64 [ %count, %next ], [ -1, %open ]
  br label %clean_next
clean_next:
  %cleaned = phi i64 [ 0, %clean ], [ %next_cleaned, %clean_one ]
  %is_clean = icmp eq i64 %cleaned, %count
  br i1 %is_clean, label %done, label %clean_one
clean_one:
  %next_cleaned = add i64 %cleaned, 1
  %numbered_at = getelementptr i64, ptr %objects, i64 %cleaned
  %numbered = load ptr, ptr %numbered_at, align 8
  %numbered_link = getelementptr i8, ptr %numbered, i64 8
  store i64 0, ptr %numbered_link, align 8
{numbered_layout}
  store i64 %numbered_layout, ptr %numbered_at, align 8
  br label %clean_next
done:
  ret i64 %result
}}

define void @relay_tune_gather(ptr %tensors, i64 %count, i64 %bytes, ptr %elements) nounwind {{
entry:
  br label %next
next:
  %place = phi i64 [ 0, %entry ], [ %following, %copy ]
  %end = icmp eq i64 %place, %count
  br i1 %end, label %done, label %copy
copy:
  %following = add i64 %place, 1
  %tensor_at = getelementptr ptr, ptr %tensors, i64 %place
  %tensor = load ptr, ptr %tensor_at, align 8
  %source = getelementptr i8, ptr %tensor, i64 {data}
  %offset = mul i64 %place, %bytes
  %target = getelementptr i8, ptr %elements, i64 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 false)
  br label %next
done:
  ret void
}}
"""
