"""The bfloat16 parts of float32 values, of arrays and as expressions.

A float32 is the sum of two or three bfloat16, each of which has 8 bits: what one of them misses,
the next one holds (G. Henry, P. Tang and A. Heinecke, Leveraging the bfloat16 artificial
intelligence datatype for higher-precision computations, ARITH 2019, section II).

Of an infinite float32, the last part alone is infinite, and the others have its sign. It meets the
other factor's first part only, which has the sign of that factor: so sums of products are infinite
or NaN where sums of float32 are.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from relay_tune.schedule.rewrites.matrix_products.form import Form
from relay_tune.tensor.expression import Scalar, binary, cast, literal, select, unary

LARGEST = np.float32(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
"""The largest bfloat16; somewhat larger float32 round to an infinity."""


def split_floats(values: np.ndarray, parts: int) -> list[np.ndarray]:
    """The bfloat16 parts of float32 values, the largest first."""
    found, rest = [], values
    for _ in range(parts - 1):
        is_large, near = np.abs(rest) > LARGEST, rest
        if is_large.any():
            bound = np.where(np.isinf(rest), np.float32(1), LARGEST)
            near = np.where(is_large, np.copysign(bound, rest), rest)
        found.append(near.astype(ml_dtypes.bfloat16))
        rest = rest - found[-1].astype(np.float32)
    return [*found, rest.astype(ml_dtypes.bfloat16)]


def part_of(number: Scalar, value: Scalar, form: Form) -> Scalar:
    """The part of a value that has a number.

    Tests for single numbers, so that the parts of a value are computed together.
    """
    if not form.splits(value.dtype):
        return value
    pieces = _pieces(value, form.parts)
    chosen = pieces[-1]
    for position in reversed(range(form.parts - 1)):
        chosen = select(binary("ne", number, position), chosen, pieces[position])
    return chosen


def _pieces(value: Scalar, parts: int) -> list[Scalar]:
    found: list[Scalar] = []
    rest = value
    for _ in range(parts - 1):
        largest = literal(float(LARGEST), rest.dtype)
        bound = select(binary("lt", rest, 0.0), -largest, largest)
        near = select(binary("gt", unary("abs", rest), largest), bound, rest)
        first = select(unary("isinf", rest), near * float(1 / LARGEST), near)
        found.append(cast(first, "bfloat16"))
        rest = rest - cast(found[-1], "float32")
    return [*found, cast(rest, "bfloat16")]


def zero_from(end: int, step: Scalar, value: Scalar) -> Scalar:
    """A value whose step is before an end; zero from there on."""
    return select(binary("lt", step, end), value, literal(0, value.dtype))
