"""What words cost that a tile puts together in registers.

A word is made once for the points and the written-out steps that read the same elements, and is
loaded in parts: only one of them stands for the register that the word fills.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from relay_tune.schedule.cost.access import Access, with_siblings
from relay_tune.schedule.nests.made_words import made_words
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.operation_count import instructions
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.walk import loads, sub_expressions


@dataclass(frozen=True, eq=False, slots=True)
class MadeWord:
    """A word that steps of a reduction put together.

    Attributes:
        form: of the flat index of its first element; None where that is not affine.
        parts: the places of its elements.
        operations: vector instructions that make it.
    """

    form: Affine | None
    parts: tuple[Affine | None, ...]
    operations: float


def words_made(nest: Nest) -> tuple[MadeWord, ...]:
    """The words that a nest puts together in each step."""
    return tuple(_made(nest))


def _made(nest: Nest) -> Iterator[MadeWord]:
    for root in made_words(nest):
        forms = tuple(axis_affine(load.indices[0]) for load in loads(root))
        operations = sum(instructions(node) for node in sub_expressions(root))
        yield MadeWord(forms[0] if forms else None, forms, operations)


def loaded_in_parts(
    accesses: Sequence[Access], words: Sequence[MadeWord], nest: Nest
) -> tuple[Access, ...]:
    """The loads of a body, of which those for the same word share its register and their data."""
    if not words:
        return tuple(accesses)
    joined = {_key(form) for word in words for form in word.parts[1:]}
    first = {_key(word.form) for word in words}
    found = (
        replace(a, is_joined=_key(a.form) in joined - first) if a.form is not None else a
        for a in accesses
    )
    return with_siblings(tuple(found), (*nest.axes, *nest.reduction))


def _key(form: Affine | None) -> object:
    return None if form is None else (frozenset(form.terms.items()), form.constant)
