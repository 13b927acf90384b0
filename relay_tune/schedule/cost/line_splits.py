"""Vectors that lie in two cache lines: the first cache is read twice for such a load."""

from __future__ import annotations

from math import gcd

from relay_tune.machine.machine import LINE_BYTES
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis


def split_share(form: Affine, size: int, vector: Axis, lanes: int) -> float:
    """Which share of the vectors that an access loads lie in two lines.

    `form` is that of the flat index, `size` the bytes of an element. The tensor begins with a line,
    and the vectors of a row follow each other, so all depends on the steps of the other axes: those
    of 72 bytes lead to one line's start in eight steps. Intel, "64 and IA-32 Architectures
    Optimization Reference Manual", section on memory accesses that cross cache lines.
    """
    if form.coefficient(vector) != 1:
        return 0.0
    length = lanes * size
    steps = [factor * size for axis, factor in form.terms.items() if axis is not vector]
    step = gcd(LINE_BYTES, length, *steps)
    starts = range(form.constant * size % step, LINE_BYTES, step)
    return sum(start + length > LINE_BYTES for start in starts) / len(starts)
