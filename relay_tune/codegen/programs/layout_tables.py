"""What native code has to know of the layouts of objects at run time, as tables in LLVM IR.

    @relay_tune_layouts
               for each layout number: the offsets of its counted fields, ended by 0
    @relay_tune_forms
               for each layout number: size class, bytes of the class, number of fields, the static
               object of a layout without fields, and the fields: of each a word with its offset,
               32 bits higher its size, and the bit COUNTED_FIELD if it is a pointer to an object

Entry 0, that of tensors, has no fields.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.word_table import ADDRESS, NUMBER, Word
from relay_tune.program.kinds import Kind, is_counted
from relay_tune.program.layouts import ObjectLayout, class_bytes, field_bytes, size_class

STATIC_COUNT = -(1 << 31)
"""The reference count of static objects."""

SIZE_SHIFT = 32
SIZE_MASK = 0xFFFF << SIZE_SHIFT
COUNTED_FIELD = 1 << 48

FORMS = "relay_tune_forms"
FORM = "{ i64, i64, i64, ptr, ptr }"


class Form(Word):
    """An entry of `@relay_tune_forms`."""

    CLASS = NUMBER
    BYTES = NUMBER
    COUNT = NUMBER
    STATIC = ADDRESS
    FIELDS = ADDRESS


NARROW_FIELDS = {1 << SIZE_SHIFT: "i8", 2 << SIZE_SHIFT: "i16", 4 << SIZE_SHIFT: "i32"}
"""Types of fields by their sizes in their words; all others have 64 bits."""


def field_of(object_: Operand, described: Operand) -> tuple[Operand, Operand]:
    """The size in the word of a field, and the address of the field in an object."""
    offset = described & ((1 << SIZE_SHIFT) - 1)
    return described & SIZE_MASK, object_.offset(offset)


def layout_tables_text(layouts: Sequence[ObjectLayout]) -> str:
    """The tables and the static objects."""
    texts = ["@layout.0 = internal constant [1 x i32] zeroinitializer"]
    forms = [f"{FORM} zeroinitializer"]
    for layout in layouts:
        texts += _constants(layout)
        forms.append(f"{FORM} {_form(layout)}")
    count = len(layouts) + 1
    pointers = ", ".join(f"ptr @layout.{number}" for number in range(count))
    texts.append(f"@relay_tune_layouts = constant [{count} x ptr] [{pointers}]")
    texts.append(f"@{FORMS} = constant [{count} x {FORM}] [{', '.join(forms)}]")
    return "\n".join(texts) + "\n"


def _constants(layout: ObjectLayout) -> list[str]:
    offsets = [*layout.counted_offsets, 0]
    listed = ", ".join(f"i32 {offset}" for offset in offsets)
    texts = [f"@layout.{layout.number} = internal constant [{len(offsets)} x i32] [{listed}]"]
    if not layout.fields:
        texts.append(
            f"@static.{layout.number} = internal constant {{ i32, i16, i16, ptr }} "
            f"{{ i32 {STATIC_COUNT}, i16 0, i16 {layout.number}, ptr null }}, align 16"
        )
        return texts
    pairs = zip(layout.offsets, layout.fields, strict=True)
    words = ", ".join(f"i64 {_field_word(offset, kind)}" for offset, kind in pairs)
    count = len(layout.fields)
    texts.append(f"@fields.{layout.number} = internal constant [{count} x i64] [{words}]")
    return texts


def _form(layout: ObjectLayout) -> str:
    number = size_class(layout.size)
    static = "null" if layout.fields else f"@static.{layout.number}"
    fields = f"@fields.{layout.number}" if layout.fields else "null"
    return (
        f"{{ i64 {number}, i64 {class_bytes(number)}, i64 {len(layout.fields)}, "
        f"ptr {static}, ptr {fields} }}"
    )


def _field_word(offset: int, kind: Kind) -> int:
    word = offset | field_bytes(kind) << SIZE_SHIFT
    return word | COUNTED_FIELD if is_counted(kind) else word
