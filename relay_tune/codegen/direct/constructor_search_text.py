"""Which constructor a value has, in LLVM IR for functions that Python calls.

Constructors are compared as objects. One that is another object of the same name takes the place of
the known one, so that it is found at once the next time.
"""

from __future__ import annotations

from relay_tune.codegen.direct.words import ConstructorForm
from relay_tune.codegen.word_table import WORD, load_entry


def constructor_search_text(head: int, before: str) -> str:
    """Blocks that look for %constructor among the %constructor_count forms at %constructors.

    They follow the block `before`, and end in the block `found`, at the instructions behind those
    that leave the address of the form in %entry_at, or go to `refuse`. `head` are the bytes before
    the fields of an object.
    """
    return _TEMPLATE.format(
        before=before,
        type=head - WORD,
        load_known=load_entry(
            "%known_at", "%constructors", "%number", ConstructorForm.CONSTRUCTOR, prefix="known_"
        ),
        load_old=load_entry(
            "%old_at", "%constructors", "%place", ConstructorForm.NAME, prefix="old_"
        ),
    )


_TEMPLATE = """\
find:
  %number = phi i64 [ 0, %{before} ], [ %following, %other ]
  %past = icmp uge i64 %number, %constructor_count
  br i1 %past, label %new, label %see
see:
{load_known}
  %is_known = icmp eq ptr %known_constructor, %constructor
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
  %unknown = icmp uge i64 %place, %constructor_count
  br i1 %unknown, label %stranger, label %read_name
stranger:
  call void @Py_DecRef(ptr %name)
  br label %refuse
read_name:
{load_old}
  %order = call i32 @PyUnicode_CompareWithASCIIString(ptr %name, ptr %old_name)
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
  %entry_at = phi ptr [ %known_at, %see ], [ %old_at, %adopt ]
"""
