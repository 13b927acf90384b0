"""Loads of one tensor that differ by a constant: what they share, and how they lie.

A nest that writes out a window (the transform of a 6 x 6 tile) has a load for each of its elements.
Windows that overlap read elements again, and loads that lie beside each other walk together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay_tune.machine.machine import PAGE_BYTES
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.size import is_symbolic

MOST_COUNTED = 1 << 15
"""Places that are counted one by one; outer axes beyond them are left out."""


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
    places = np.array(begins, dtype=np.int64) // unit
    for axis in ordered:
        if places.size * axis.extent > MOST_COUNTED:
            break
        steps = np.arange(axis.extent, dtype=np.int64) * (terms[axis] // unit)
        places = np.add.outer(places, steps).reshape(-1)
    return float(np.unique(places).size / places.size)


def streams(forms: Sequence[Affine], element_bytes: int) -> int:
    """How many places apart in memory accesses with these forms read from at a time."""
    begins = [form.constant for form in forms]
    if any(map(is_symbolic, begins)):
        return len(forms)
    return len({begin * element_bytes // PAGE_BYTES for begin in begins})
