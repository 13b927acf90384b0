"""The arguments of a call, read by native code in Python's memory, as LLVM IR.

    i64 read_arguments(PyObject **arguments, ptr call)

It compares each part of the arguments with its form. The addresses of arrays go into the table of
inputs. Values of data types are described as `relay_tune.codegen.programs.build_text` reads it: a
code for each part, and the elements of their tensors, column by column. The result is the number of
codes, REFUSED if a part is not exactly as wanted, or NO_ROOM if there is too little room.

Of the objects it reads `PyTupleObject`, numpy's `PyArrayObject_fields` and slots of classes; parts
wait on the stack as pairs of object and form. No code of Python's runs meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.codegen.direct.array_check_text import NO_SIZE, array_check_text
from relay_tune.codegen.direct.constructor_search_text import constructor_search_text
from relay_tune.codegen.direct.words import (
    ArrayForm,
    Call,
    ConstructorForm,
    FormKind,
    InputForm,
    LeafForm,
    ListForm,
)
from relay_tune.codegen.programs.build_text import LeafColumn
from relay_tune.codegen.word_table import WORD, find_entry, load_words

REFUSED, NO_ROOM = -1, -2


def argument_text(head: int, slots: Mapping[str, int]) -> str:
    """The function; `head` are the bytes before the fields of an object.

    `slots` are the offsets of the slots of values in their objects.
    """
    return _TEMPLATE.format(
        type=head - WORD,
        count=head,
        items=head + WORD,
        array_check=array_check_text(head, "%object", "known"),
        refused=REFUSED,
        no_room=NO_ROOM,
        no_size=NO_SIZE,
        find_leaf=find_entry("%leaf_at", "%leaves", LeafColumn, "%leaf"),
        input_kind=FormKind.INPUT,
        leaf_kind=FormKind.LEAF,
        data_kind=FormKind.DATA,
        tuple_kind=FormKind.TUPLE,
        constructors=WORD * ListForm.FORMS,
        load_call=load_words("%call", *_CALL_WORDS),
        load_array=load_words(
            "%form", ArrayForm.DTYPE, ArrayForm.RANK, ArrayForm.SIZES, prefix="wanted_"
        ),
        load_input=load_words("%form", InputForm.SLOT, InputForm.FOUND_SIZES),
        load_leaf=load_words(
            "%form",
            LeafForm.CODE,
            LeafForm.END_PLACE,
            LeafForm.LIMIT,
            LeafForm.BYTES,
            prefix="leaf_",
        ),
        load_tuple=load_words("%form", ListForm.COUNT, ListForm.FORMS, prefix="tuple_"),
        load_constructor_count=load_words("%form", ListForm.COUNT, prefix="constructor_"),
        find_constructor=constructor_search_text(head, "parts"),
        load_entry=load_words(
            "%entry_at",
            ConstructorForm.CODE,
            ConstructorForm.COUNT,
            ConstructorForm.FORMS,
            prefix="data_",
        ),
        **slots,
    )


_CALL_WORDS = (
    Call.ARGUMENT_COUNT,
    Call.FORMS,
    Call.CODES,
    Call.CODE_ROOM,
    Call.PAIRS,
    Call.PAIR_ROOM,
    Call.LEAVES,
    Call.LEAF_COUNT,
    Call.STARTS,
    Call.SYMBOLS,
    Call.SYMBOL_COUNT,
)

_TEMPLATE = """\
define internal i64 @read_arguments(ptr %arguments, ptr %call) nounwind {{
entry:
{load_call}
  br label %reset_leaf
reset_leaf:
  %leaf = phi i64 [ 0, %entry ], [ %next_leaf, %set_leaf ]
  %leaves_set = icmp eq i64 %leaf, %leaf_count
  br i1 %leaves_set, label %reset_symbol, label %set_leaf
set_leaf:
  %start_at = getelementptr ptr, ptr %starts, i64 %leaf
{find_leaf}
  %start = load ptr, ptr %start_at, align 8
  store ptr %start, ptr %leaf_at, align 8
  %next_leaf = add i64 %leaf, 1
  br label %reset_leaf
reset_symbol:
  %old_symbol = phi i64 [ 0, %reset_leaf ], [ %next_symbol, %set_symbol ]
  %symbols_set = icmp eq i64 %old_symbol, %symbol_count
  br i1 %symbols_set, label %reserve, label %set_symbol
set_symbol:
  %old_symbol_at = getelementptr i64, ptr %symbols, i64 %old_symbol
  store i64 {no_size}, ptr %old_symbol_at, align 8
  %next_symbol = add i64 %old_symbol, 1
  br label %reset_symbol

next:
  %code_at = getelementptr i16, ptr %codes, i64 %reached
  %type_at = getelementptr i8, ptr %object, i64 {type}
  %type = load ptr, ptr %type_at, align 8
  %kind = load i64, ptr %form, align 8
  %fits = icmp ult i64 %reached, %code_room
  br i1 %fits, label %look, label %no_room
look:
  switch i64 %kind, label %refuse [
    i64 {input_kind}, label %candidate
    i64 {leaf_kind}, label %candidate
    i64 {data_kind}, label %data
    i64 {tuple_kind}, label %tuple
  ]

candidate:
  %is_array = icmp eq ptr %type, @relay_tune_class_array
  br i1 %is_array, label %array, label %refuse
array:
{load_array}
{array_check}known:
  %is_leaf = icmp eq i64 %kind, {leaf_kind}
  br i1 %is_leaf, label %copy, label %pass
pass:
{load_input}
  store ptr %elements, ptr %slot, align 8
  %is_open = icmp ne ptr %found_sizes, null
  br i1 %is_open, label %copy_sizes, label %pop
copy_sizes:
  %wide_rank = sext i32 %rank to i64
  %size_bytes = shl i64 %wide_rank, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %found_sizes, ptr %sizes, i64 %size_bytes, i1 false)
  br label %pop
copy:
{load_leaf}
  %end = load ptr, ptr %leaf_end_place, align 8
  %new_end = getelementptr i8, ptr %end, i64 %leaf_bytes
  %over = icmp ugt ptr %new_end, %leaf_limit
  br i1 %over, label %no_room, label %keep
keep:
  call void @llvm.memcpy.p0.p0.i64(ptr %end, ptr %elements, i64 %leaf_bytes, i1 false)
  store ptr %new_end, ptr %leaf_end_place, align 8
  %leaf_code16 = trunc i64 %leaf_code to i16
  store i16 %leaf_code16, ptr %code_at, align 2
  %after_leaf = add i64 %reached, 1
  br label %pop

data:
  %is_value = icmp eq ptr %type, @relay_tune_class_value
  br i1 %is_value, label %parts, label %refuse
parts:
  %constructors = getelementptr i8, ptr %form, i64 {constructors}
  %constructor_at = getelementptr i8, ptr %object, i64 {value_constructor}
  %fields_at = getelementptr i8, ptr %object, i64 {value_fields}
  %constructor = load ptr, ptr %constructor_at, align 8
  %value_fields = load ptr, ptr %fields_at, align 8
{load_constructor_count}
  %no_constructor = icmp eq ptr %constructor, null
  %no_fields = icmp eq ptr %value_fields, null
  %unset = or i1 %no_constructor, %no_fields
  br i1 %unset, label %refuse, label %find
{find_constructor}{load_entry}
  %data_code16 = trunc i64 %data_code to i16
  store i16 %data_code16, ptr %code_at, align 2
  %after_data = add i64 %reached, 1
  %fields_type_at = getelementptr i8, ptr %value_fields, i64 {type}
  %fields_type = load ptr, ptr %fields_type_at, align 8
  br label %list

tuple:
{load_tuple}
  br label %list

list:
  %listed = phi ptr [ %value_fields, %found ], [ %object, %tuple ]
  %listed_type = phi ptr [ %fields_type, %found ], [ %type, %tuple ]
  %wanted_count = phi i64 [ %data_count, %found ], [ %tuple_count, %tuple ]
  %list_forms = phi ptr [ %data_forms, %found ], [ %tuple_forms, %tuple ]
  %after_list = phi i64 [ %after_data, %found ], [ %reached, %tuple ]
  %is_tuple = icmp eq ptr %listed_type, @relay_tune_class_tuple
  br i1 %is_tuple, label %measure, label %refuse
measure:
  %length_at = getelementptr i8, ptr %listed, i64 {count}
  %length = load i64, ptr %length_at, align 8
  %list_items = getelementptr i8, ptr %listed, i64 {items}
  %complete = icmp eq i64 %length, %wanted_count
  br i1 %complete, label %reserve, label %refuse
reserve:
  %items = phi ptr [ %arguments, %reset_symbol ], [ %list_items, %measure ]
  %item_count = phi i64 [ %argument_count, %reset_symbol ], [ %wanted_count, %measure ]
  %item_forms = phi ptr [ %forms, %reset_symbol ], [ %list_forms, %measure ]
  %after_items = phi i64 [ 0, %reset_symbol ], [ %after_list, %measure ]
  %top = phi i64 [ 0, %reset_symbol ], [ %below, %measure ]
  %filled = add i64 %top, %item_count
  %high = icmp ugt i64 %filled, %pair_room
  br i1 %high, label %no_room, label %push
push:
  %left = phi i64 [ %item_count, %reserve ], [ %index, %store ]
  %height = phi i64 [ %top, %reserve ], [ %higher, %store ]
  %all = icmp eq i64 %left, 0
  br i1 %all, label %pop, label %store
store:
  %index = sub i64 %left, 1
  %item_at = getelementptr ptr, ptr %items, i64 %index
  %item_form_at = getelementptr ptr, ptr %item_forms, i64 %index
  %item = load ptr, ptr %item_at, align 8
  %item_form = load ptr, ptr %item_form_at, align 8
  %pair_at = getelementptr {{ ptr, ptr }}, ptr %pairs, i64 %height
  %pair_form_at = getelementptr ptr, ptr %pair_at, i64 1
  store ptr %item, ptr %pair_at, align 8
  store ptr %item_form, ptr %pair_form_at, align 8
  %higher = add i64 %height, 1
  br label %push

pop:
  %reached = phi i64 [ %after_leaf, %keep ], [ %reached, %pass ], [ %reached, %copy_sizes ],
             [ %after_items, %push ]
  %stacked = phi i64 [ %below, %keep ], [ %below, %pass ], [ %below, %copy_sizes ],
             [ %height, %push ]
  %last = icmp eq i64 %stacked, 0
  br i1 %last, label %done, label %take
take:
  %below = sub i64 %stacked, 1
  %waiting_at = getelementptr {{ ptr, ptr }}, ptr %pairs, i64 %below
  %waiting_form_at = getelementptr ptr, ptr %waiting_at, i64 1
  %object = load ptr, ptr %waiting_at, align 8
  %form = load ptr, ptr %waiting_form_at, align 8
  br label %next
done:
  ret i64 %reached
refuse:
  ret i64 {refused}
no_room:
  ret i64 {no_room}
}}
"""
