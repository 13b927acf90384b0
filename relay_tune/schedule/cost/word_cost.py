"""What words cost that a tile puts together in registers.

A word is made once for the points and the written-out steps that read the same elements, and is
loaded in parts: only one of them stands for the register that the word fills. One whose elements
lie side by side is one load where all lanes take the same word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.cost.access import Access, with_siblings
from relay_tune.schedule.nests.made_words import in_row, made_words
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.operation_count import instructions
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Scalar, Word
from relay_tune.tensor.walk import loads, sub_expressions


@dataclass(frozen=True, eq=False, slots=True)
class MadeWord:
    """A word that steps of a reduction put together.

    Attributes:
        form: of the flat index of its first element; None where that is not affine.
        parts: the positions of its elements.
        joins: vector instructions that join its elements.
        operations: further ones that make it.
        is_in_row: whether its elements lie side by side in memory.
    """

    form: Affine | None
    parts: tuple[Affine | None, ...]
    joins: float
    operations: float
    is_in_row: bool

    def instructions(self, lanes: Axis | None) -> float:
        """Vector instructions that make it where lanes run along an axis."""
        return self.operations + (0.0 if self._is_loaded_whole(lanes) else self.joins)

    def _is_loaded_whole(self, lanes: Axis | None) -> bool:
        return self.is_in_row and self.form is not None and lanes not in self.form.terms


def words_made(nest: Nest) -> tuple[MadeWord, ...]:
    """The words that a nest puts together in each step."""
    return tuple(_made(nest))


def _made(nest: Nest) -> Iterator[MadeWord]:
    for root in made_words(nest):
        forms = tuple(axis_affine(load.indices[0]) for load in loads(root))
        nodes = sub_expressions(root)
        joins = sum(instructions(node) for node in nodes if isinstance(node, Word))
        others = sum(instructions(node) for node in nodes) - joins
        yield MadeWord(forms[0] if forms else None, forms, joins, others, _is_in_row(root))


def _is_in_row(root: Scalar) -> bool:
    """Whether the elements of the words in an expression lie side by side."""
    words = [node for node in sub_expressions(root) if isinstance(node, Word)]
    return all(in_row(word.elements) is not None for word in words)


def loaded_in_parts(
    accesses: Sequence[Access], words: Sequence[MadeWord], nest: Nest
) -> tuple[Access, ...]:
    """The loads of a body, of which those for the same word share its register and their data."""
    if not words:
        return tuple(accesses)
    joined = {_key(form) for word in words for form in word.parts[1:]}
    first = {_key(word.form) for word in words}
    in_rows = {_key(form) for word in words if word.is_in_row for form in word.parts[1:]}
    found = (
        replace(
            a,
            is_joined=_key(a.form) in joined - first,
            is_in_row=_key(a.form) in in_rows - first,
        )
        if a.form is not None
        else a
        for a in accesses
    )
    return with_siblings(tuple(found), (*nest.axes, *nest.reduction))


def _key(form: Affine | None) -> object:
    return None if form is None else (frozenset(form.terms.items()), form.constant)
