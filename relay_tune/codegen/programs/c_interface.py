"""How values of the language are named in C: one function to make each constructor's values, one to
read each field.

    type List[A] { Cons(A, List[A]), Nil }         used as List[int64], in a library `names`

    names_value* names_Cons_List_int64(names_session*, int64_t, names_value*);
    int64_t      names_Cons_List_int64_0(const names_value*);
    names_value* names_Cons_List_int64_1(const names_value*);
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from relay_tune.program.kinds import Kind, ScalarKind
from relay_tune.program.layouts import ObjectLayout
from relay_tune.program.program import FirstOrderProgram
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_text import type_text

C_TYPES = {
    "float32": "float",
    "float64": "double",
    "bool": "uint8_t",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
}
"""Element types whose C type is not their name with `_t`."""


@dataclass(frozen=True, eq=False, slots=True)
class CConstructor:
    """A constructor, or the making of a reference, as C sees it."""

    name: str
    description: str
    layout: ObjectLayout


OWN_NAMES = frozenset(
    """
    build close destroy elements failed_index failed_size gather hand_over main message open read
    release reset retain session sized_tensor sizes supported tag tensor value
    success no_memory wrong_processor too_deep index_out_of_range refused h
    """.split()
)
"""What libraries call functions, types and macros of their own."""


def c_constructors(program: FirstOrderProgram) -> list[CConstructor]:
    """The constructors of all values that are passed from and to outside, with unique names.

    Names differ by more than case, since macros are in upper case.
    """
    taken = set(OWN_NAMES)
    return [
        CConstructor(_unique(_identifier(wanted), taken), description, layout)
        for wanted, description, layout in _listed(program)
    ]


def c_type(kind: Kind, name: str) -> str:
    """The C type of a component in the library `name`."""
    if not isinstance(kind, ScalarKind):
        return f"{name}_value*"
    return C_TYPES.get(kind.dtype, f"{kind.dtype}_t")


def _listed(program: FirstOrderProgram) -> Iterator[tuple[str, str, ObjectLayout]]:
    for type_, made in program.data_types.items():
        for each in made:
            text = type_text(type_)
            wanted = f"{each.constructor.name}_{text}"
            yield wanted, f"{each.constructor.name} of {text}", each.layout
    for type_, layout in program.cells.items():
        yield type_text(type_), type_text(type_), layout


def _identifier(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_")


def _unique(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name.lower() in taken:
        number += 1
        name = f"{wanted}_v{number}"
    taken.add(name.lower())
    return name
