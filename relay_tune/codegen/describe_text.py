"""Values of the language in Python, described by native code, in LLVM IR.

    i64 relay_tune_describe(PyObject *value, ptr call)

It writes what `relay_tune.codegen.programs.build_text` reads: a code for each part of a value, and
the elements of its tensors, column by column. The result is the number of codes, REFUSED if a part
is not exactly as wanted, or NO_ROOM if there is too little room for it. `call` is five words:

    form of the value, codes, room for codes, stack, room for pairs on the stack

Forms are words that say what a part must be, and with which codes it is described:

    LEAF          code, place of the end of its column, its limit, element type, rank, sizes, bytes
    DATA          number of constructors, and of each: a constructor object, its name, code,
                  number of fields, and where the addresses of their forms stand
    TUPLE         number of fields, and where the addresses of their forms stand

A constructor object that is another one of the same name takes the place of the known one. What is
read of the objects are `PyTupleObject`, numpy's `PyArrayObject_fields` and slots of classes; parts
wait on the stack as pairs of object and form. No code of Python's runs meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.codegen.array_check_text import array_check_text

DESCRIBE_SYMBOL = "relay_tune_describe"
REFUSED, NO_ROOM = -1, -2
LEAF, DATA_TYPE, TUPLE = 0, 1, 2
CONSTRUCTOR_WORDS = 5

PYTHON_FUNCTIONS = (
    "PyObject_GetAttrString",
    "PyErr_Clear",
    "PyUnicode_CompareWithASCIIString",
    "Py_IncRef",
    "Py_DecRef",
)
"""What it needs of Python, all of the stable interface."""

CLASSES = ("array", "tuple", "value", "constructor")
"""The classes whose objects it looks into; imported as `relay_tune_class_` and the name."""

SLOTS = ("value_constructor", "value_fields")
"""The slots of values that it reads, whose offsets in their objects it is given."""


def describe_text(triple: str, head: int, slots: Mapping[str, int]) -> str:
    """The LLVM module; `head` are the bytes before the fields of an object."""
    return _TEMPLATE.format(
        triple=triple,
        symbol=DESCRIBE_SYMBOL,
        classes="\n".join(f"@relay_tune_class_{name} = external global i8" for name in CLASSES),
        type=head - 8,
        count=head,
        items=head + 8,
        array_check=array_check_text(head, "%object", "copy"),
        refused=REFUSED,
        no_room=NO_ROOM,
        constructor_bytes=8 * CONSTRUCTOR_WORDS,
        **slots,
    )


_TEMPLATE = """\
target triple = "{triple}"
declare i32 @PyUnicode_CompareWithASCIIString(ptr, ptr)
declare ptr @PyObject_GetAttrString(ptr, ptr)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
{classes}
@name = internal constant [5 x i8] c"name\\00"

define i64 @{symbol}(ptr %value, ptr %call) nounwind {{
entry:
  %root = load ptr, ptr %call, align 8
  %codes_at = getelementptr i64, ptr %call, i64 1
  %room_at = getelementptr i64, ptr %call, i64 2
  %stack_at = getelementptr i64, ptr %call, i64 3
  %pairs_at = getelementptr i64, ptr %call, i64 4
  %codes = load ptr, ptr %codes_at, align 8
  %room = load i64, ptr %room_at, align 8
  %stack = load ptr, ptr %stack_at, align 8
  %pairs = load i64, ptr %pairs_at, align 8
  br label %next
next:
  %object = phi ptr [ %value, %entry ], [ %waiting, %take ]
  %form = phi ptr [ %root, %entry ], [ %waiting_form, %take ]
  %count = phi i64 [ 0, %entry ], [ %reached, %take ]
  %top = phi i64 [ 0, %entry ], [ %below, %take ]
  %code_at = getelementptr i16, ptr %codes, i64 %count
  %type_at = getelementptr i8, ptr %object, i64 {type}
  %type = load ptr, ptr %type_at, align 8
  %first_at = getelementptr i64, ptr %form, i64 1
  %second_at = getelementptr i64, ptr %form, i64 2
  %kind = load i64, ptr %form, align 8
  %first = load i64, ptr %first_at, align 8
  %fits = icmp ult i64 %count, %room
  br i1 %fits, label %look, label %no_room
look:
  switch i64 %kind, label %refuse [
    i64 0, label %leaf
    i64 1, label %data
    i64 2, label %tuple
  ]

leaf:
  %is_array = icmp eq ptr %type, @relay_tune_class_array
  br i1 %is_array, label %array, label %refuse
array:
  %limit_at = getelementptr i64, ptr %form, i64 3
  %wanted_dtype_at = getelementptr i64, ptr %form, i64 4
  %wanted_rank_at = getelementptr i64, ptr %form, i64 5
  %wanted_sizes_at = getelementptr i64, ptr %form, i64 6
  %bytes_at = getelementptr i64, ptr %form, i64 7
  %end_at = load ptr, ptr %second_at, align 8
  %limit = load ptr, ptr %limit_at, align 8
  %wanted_dtype = load ptr, ptr %wanted_dtype_at, align 8
  %wanted_rank = load i32, ptr %wanted_rank_at, align 8
  %wanted_sizes = load ptr, ptr %wanted_sizes_at, align 8
  %bytes = load i64, ptr %bytes_at, align 8
{array_check}copy:
  %end = load ptr, ptr %end_at, align 8
  %new_end = getelementptr i8, ptr %end, i64 %bytes
  %over = icmp ugt ptr %new_end, %limit
  br i1 %over, label %no_room, label %keep
keep:
  call void @llvm.memcpy.p0.p0.i64(ptr %end, ptr %elements, i64 %bytes, i1 false)
  store ptr %new_end, ptr %end_at, align 8
  %leaf_code = trunc i64 %first to i16
  store i16 %leaf_code, ptr %code_at, align 2
  %after_leaf = add i64 %count, 1
  br label %pop

data:
  %is_value = icmp eq ptr %type, @relay_tune_class_value
  br i1 %is_value, label %parts, label %refuse
parts:
  %constructor_at = getelementptr i8, ptr %object, i64 {value_constructor}
  %fields_at = getelementptr i8, ptr %object, i64 {value_fields}
  %constructor = load ptr, ptr %constructor_at, align 8
  %value_fields = load ptr, ptr %fields_at, align 8
  %no_constructor = icmp eq ptr %constructor, null
  %no_fields = icmp eq ptr %value_fields, null
  %unset = or i1 %no_constructor, %no_fields
  br i1 %unset, label %refuse, label %find
find:
  %number = phi i64 [ 0, %parts ], [ %following, %other ]
  %past = icmp uge i64 %number, %first
  br i1 %past, label %new, label %known
known:
  %known_offset = mul i64 %number, {constructor_bytes}
  %known_at = getelementptr i8, ptr %second_at, i64 %known_offset
  %known_object = load ptr, ptr %known_at, align 8
  %is_known = icmp eq ptr %known_object, %constructor
  br i1 %is_known, label %found, label %other
other:
  %following = add i64 %number, 1
  br label %find
new:
  %new_type_at = getelementptr i8, ptr %constructor, i64 {type}
  %new_type = load ptr, ptr %new_type_at, align 8
  %is_constructor = icmp eq ptr %new_type, @relay_tune_class_constructor
  br i1 %is_constructor, label %named, label %refuse
named:
  %name = call ptr @PyObject_GetAttrString(ptr %constructor, ptr @name)
  %nameless = icmp eq ptr %name, null
  br i1 %nameless, label %clear, label %search
clear:
  call void @PyErr_Clear()
  br label %refuse
search:
  %place = phi i64 [ 0, %named ], [ %next_place, %unlike ]
  %unknown = icmp uge i64 %place, %first
  br i1 %unknown, label %stranger, label %read_name
stranger:
  call void @Py_DecRef(ptr %name)
  br label %refuse
read_name:
  %old_offset = mul i64 %place, {constructor_bytes}
  %old_at = getelementptr i8, ptr %second_at, i64 %old_offset
  %text_at = getelementptr i64, ptr %old_at, i64 1
  %text = load ptr, ptr %text_at, align 8
  %order = call i32 @PyUnicode_CompareWithASCIIString(ptr %name, ptr %text)
  %equal = icmp eq i32 %order, 0
  br i1 %equal, label %adopt, label %unlike
unlike:
  %next_place = add i64 %place, 1
  br label %search
adopt:
  call void @Py_DecRef(ptr %name)
  %old = load ptr, ptr %old_at, align 8
  call void @Py_IncRef(ptr %constructor)
  store ptr %constructor, ptr %old_at, align 8
  call void @Py_DecRef(ptr %old)
  br label %found
found:
  %entry_at = phi ptr [ %known_at, %known ], [ %old_at, %adopt ]
  %data_code_at = getelementptr i64, ptr %entry_at, i64 2
  %arity_at = getelementptr i64, ptr %entry_at, i64 3
  %forms_at = getelementptr i64, ptr %entry_at, i64 4
  %data_code64 = load i64, ptr %data_code_at, align 8
  %data_arity = load i64, ptr %arity_at, align 8
  %data_forms = load ptr, ptr %forms_at, align 8
  %data_code = trunc i64 %data_code64 to i16
  store i16 %data_code, ptr %code_at, align 2
  %after_data = add i64 %count, 1
  %fields_type_at = getelementptr i8, ptr %value_fields, i64 {type}
  %fields_type = load ptr, ptr %fields_type_at, align 8
  br label %list

tuple:
  %tuple_forms = load ptr, ptr %second_at, align 8
  br label %list

list:
  %listed = phi ptr [ %value_fields, %found ], [ %object, %tuple ]
  %listed_type = phi ptr [ %fields_type, %found ], [ %type, %tuple ]
  %arity = phi i64 [ %data_arity, %found ], [ %first, %tuple ]
  %forms = phi ptr [ %data_forms, %found ], [ %tuple_forms, %tuple ]
  %after_list = phi i64 [ %after_data, %found ], [ %count, %tuple ]
  %is_tuple = icmp eq ptr %listed_type, @relay_tune_class_tuple
  br i1 %is_tuple, label %measure, label %refuse
measure:
  %length_at = getelementptr i8, ptr %listed, i64 {count}
  %length = load i64, ptr %length_at, align 8
  %complete = icmp eq i64 %length, %arity
  br i1 %complete, label %reserve, label %refuse
reserve:
  %items = getelementptr i8, ptr %listed, i64 {items}
  %filled = add i64 %top, %arity
  %high = icmp ugt i64 %filled, %pairs
  br i1 %high, label %no_room, label %push
push:
  %left = phi i64 [ %arity, %reserve ], [ %index, %store ]
  %height = phi i64 [ %top, %reserve ], [ %higher, %store ]
  %all = icmp eq i64 %left, 0
  br i1 %all, label %pop, label %store
store:
  %index = sub i64 %left, 1
  %item_at = getelementptr ptr, ptr %items, i64 %index
  %item_form_at = getelementptr ptr, ptr %forms, i64 %index
  %item = load ptr, ptr %item_at, align 8
  %item_form = load ptr, ptr %item_form_at, align 8
  %pair_at = getelementptr {{ ptr, ptr }}, ptr %stack, i64 %height
  %pair_form_at = getelementptr ptr, ptr %pair_at, i64 1
  store ptr %item, ptr %pair_at, align 8
  store ptr %item_form, ptr %pair_form_at, align 8
  %higher = add i64 %height, 1
  br label %push

pop:
  %reached = phi i64 [ %after_leaf, %keep ], [ %after_list, %push ]
  %stacked = phi i64 [ %top, %keep ], [ %height, %push ]
  %last = icmp eq i64 %stacked, 0
  br i1 %last, label %done, label %take
take:
  %below = sub i64 %stacked, 1
  %waiting_at = getelementptr {{ ptr, ptr }}, ptr %stack, i64 %below
  %waiting_form_at = getelementptr ptr, ptr %waiting_at, i64 1
  %waiting = load ptr, ptr %waiting_at, align 8
  %waiting_form = load ptr, ptr %waiting_form_at, align 8
  br label %next
done:
  ret i64 %reached
refuse:
  ret i64 {refused}
no_room:
  ret i64 {no_room}
}}
"""
