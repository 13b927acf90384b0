"""The loads of a nest, and what they find near.

Lanes may share elements, which are shuffled out of vectors that were loaded whole. A shuffle takes
the place of arithmetic, and processors do one in a cycle; the whole vectors stay in registers while
written-out steps pick one element after another:

    x[w * 128 + (o // 4) * 4 + c]      o along the lanes: one vector of x gives those of c = 0 .. 3

A nest that writes out a window (the transform of a 6 x 6 tile) has a load for each of its elements.
Windows that overlap read elements again, and loads that lie beside each other walk together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import PAGE_BYTES
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.byte_lookup import looked_up_byte
from relay_tune.tensor.expression import Axis, Scalar, Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.loops import Buffer
from relay_tune.tensor.repeated import counted_form, repeated_form, stepped_form
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import loads

MOST_COUNTED = 1 << 15
"""Offsets that are counted one by one; outer axes beyond them are left out."""


@dataclass(frozen=True, eq=False, slots=True)
class Near:
    """What the nests before have left in a cache.

    Attributes:
        tensors: of which the part that the nest reads or writes is there.
        bytes: all that the nests work on meanwhile, which decides how near the cache is.
        repeats: how often the nests run, one block after the other, with the same constants.
        siblings: how many reductions run in the same loops (see `sibling_reductions`).
        joined: whether the nest is not the first of them.
        asked_for: what the nest asks for so that others find it near: bytes, and those of all
            that they are among.
    """

    tensors: frozenset[Tensor] = frozenset()
    bytes: int = 0
    repeats: int = 1
    siblings: int = 1
    joined: bool = False
    asked_for: tuple[tuple[int, int], ...] = ()


NOTHING_NEAR = Near()


@dataclass(frozen=True, eq=False, slots=True)
class Access:
    """One load of a nest's reduction body or epilogue.

    Attributes:
        form: of the flat index, if it is affine; of one whose elements repeat, a smooth one.
        bytes: of one element.
        constant: whether it reads a constant.
        elements: those that it is among.
        is_near: whether a nest before has touched what it reads.
        repeats: among how many elements the lanes that share one pick it, so that a vector is
            shuffled as well as loaded; 0 where lanes share nothing.
        fresh: the share of what it reads that no load before has read, which differs by a constant.
        is_joined: whether it loads a part of a word whose register another load counts.
        is_in_row: whether that part lies beside what the other one loads.
        streams: the locations that it reads from at a time, less than 1 if others lie beside it.
    """

    form: Affine | None
    bytes: int
    constant: bool
    elements: int
    is_near: bool = False
    repeats: int = 0
    fresh: float = 1.0
    streams: float = 1.0
    is_joined: bool = False
    is_in_row: bool = False

    @property
    def all_bytes(self) -> int:
        """Those that it is among."""
        return self.elements * self.bytes

    def depends_on(self, axis: Axis) -> bool:
        """Whether what it reads may differ along an axis."""
        return self.form is None or axis in self.form.terms

    def picks(self, axis: Axis) -> bool:
        """Whether the steps along an axis pick different elements out of the same vectors."""
        return self.form is not None and 0 < self.form.coefficient(axis) < self.repeats

    def whole_vectors(
        self, reduction: Sequence[Axis], unrolled: Mapping[Axis, int] | None = None
    ) -> Affine:
        """The form without the axes that pick elements out of vectors.

        Where not all steps of an axis are `unrolled`, vectors begin where it says instead.
        """
        assert self.form is not None
        form = self.form
        if not self.repeats:
            return form
        for axis in reduction:
            is_whole = unrolled is None or unrolled.get(axis, 1) == axis.extent
            form = form.without(axis) if self.picks(axis) and is_whole else form
        return form

    def steps_within(self, unrolled: Mapping[Axis, int]) -> dict[Axis, int] | None:
        """The written-out steps between two picks out of a vector, None if each vector has one.

        `unrolled` are all steps that are written out, those of the innermost axis first.
        """
        inside: dict[Axis, int] = {}
        for axis, steps in unrolled.items():
            if self.picks(axis):
                return inside if steps > 1 else None
            inside[axis] = steps
        return None


def accesses_of(root: Scalar, constants: frozenset[Tensor], near: Near) -> Iterator[Access]:
    """The loads of an expression, once each."""
    for load in loads(root):
        tensor, size = load.tensor, DTYPES[load.dtype].itemsize
        if looked_up_byte(load) is not None:  # of a table that registers hold
            continue
        if isinstance(tensor, FlatView | Buffer):
            is_constant = isinstance(tensor, FlatView) and tensor.viewed in constants
            is_near = tensor in near.tensors
            among = near.bytes // size if is_near else prod(tensor.shape)
            yield _access(load.indices[0], size, is_constant, among, is_near)


def _access(index: Scalar, size: int, is_constant: bool, elements: int, is_near: bool) -> Access:
    form = axis_affine(index)
    if form is None and (repeated := repeated_form(index)) is not None:
        return Access(
            repeated.smooth, size, is_constant, elements, is_near, repeats=repeated.factor
        )
    form = form or counted_form(index) or stepped_form(index)
    return Access(form, size, is_constant, elements, is_near)


def with_siblings(accesses: Sequence[Access], axes: Sequence[Axis]) -> tuple[Access, ...]:
    """The same loads, which know what they share with those that differ by a constant."""
    groups: dict[object, list[Access]] = {}
    for access in accesses:
        if access.form is not None:
            key = (frozenset(access.form.terms.items()), access.elements, access.bytes)
            groups.setdefault(key, []).append(access)
    found = {access: access for access in accesses}
    for group in groups.values():
        forms = [access.form for access in group if access.form is not None]
        fresh, apart = fresh_share(forms, axes), streams(forms, group[0].bytes)
        for access in group:
            found[access] = replace(access, fresh=fresh, streams=apart / len(group))
    return tuple(found[access] for access in accesses)


def fresh_share(forms: Sequence[Affine], axes: Sequence[Axis]) -> float:
    """The elements that accesses with these forms touch over the axes, by their number of reads.

    The forms have the same terms.
    """
    terms = {axis: forms[0].coefficient(axis) for axis in axes if forms[0].coefficient(axis)}
    begins = [form.constant for form in forms]
    if len(forms) < 2 or any(map(is_symbolic, (*terms.values(), *begins))):
        return 1.0
    ordered = sorted(terms, key=lambda axis: abs(terms[axis]))
    unit = 1
    if ordered and terms[ordered[0]] == 1:
        run = ordered[0].extent
        if all(number % run == 0 for number in (*(terms[a] for a in ordered[1:]), *begins)):
            unit, ordered = run, ordered[1:]
    offsets = np.array(begins, dtype=np.int64) // unit
    for axis in ordered:
        if offsets.size * axis.extent > MOST_COUNTED:
            break
        steps = np.arange(axis.extent, dtype=np.int64) * (terms[axis] // unit)
        offsets = np.add.outer(offsets, steps).reshape(-1)
    return float(np.unique(offsets).size / offsets.size)


def streams(forms: Sequence[Affine], element_bytes: int) -> int:
    """How many locations apart in memory accesses with these forms read from at a time."""
    begins = [form.constant for form in forms]
    if any(map(is_symbolic, begins)):
        return len(forms)
    return len({begin * element_bytes // PAGE_BYTES for begin in begins})
