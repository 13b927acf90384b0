"""The transforms of Winograd's minimal filtering F(m, 3) and F(m x m, 3 x 3), as expressions.

An output tile of m x m is A^T ((G g G^T) * (B^T d B)) A for a window of (m + 2) x (m + 2) elements
d and taps g. F(2 x 2) is that of Lavin and Gray, "Fast Algorithms for Convolutional Neural
Networks" (2016), section 4.1, with the interpolation points 0, 1, -1. Their points for m = 4, which
are 0, 1, -1, 2, -2, have constants from 1/24 to 8, with which sums lose about two bits; 0, 3/4,
-3/4, 3/2, -3/2 take one multiplication more and have a fourth of the largest error (on the choice
of points: Barabasz, Anderson, Soodhalter and Gregg, "Error analysis and improving the accuracy of
Winograd convolution for deep neural networks", 2020).

With stride 2 the elements at even positions meet the outer two taps with stride 1, which is
F(m, 2), and those at odd positions meet the tap between them: 2 m + 1 products in place of 3 m.

Where only one of two dimensions has taps, the other one stays as it is: a window of one element.

Where results have taps of their own in each phase, as those of transposed convolutions, each phase
has its filtering, and all of them are one: y0 = w1 d0 and y2 = w1 d1 are two products, y1 and y3
of w2 and w0 are F(2, 2), the transpose of that with stride 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import prod

import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.winograd.phase import Phases
from relay_tune.tensor.expression import Scalar, literal
from relay_tune.tensor.scalar_value import scalar_value

Rows = Callable[[Sequence[Scalar]], list[Scalar]]


@dataclass(frozen=True, eq=False, slots=True)
class Filtering:
    """The transforms F(m, r) along one dimension.

    Attributes:
        outputs: m, the outputs of a tile.
        step: how far the windows of two tiles are apart.
        window: the inputs of a tile.
        taps: the matrix G, products x r.
        data: the elements of B^T d, as many as there are products.
        result: the m elements of A^T t.
        divisors: what each of these is a multiple of the outputs by, in integers; empty for floats.
    """

    outputs: int
    step: int
    window: int
    taps: np.ndarray
    data: Rows
    result: Rows
    divisors: tuple[int, ...] = ()

    @property
    def products(self) -> int:
        """The elements of B^T d."""
        return int(self.taps.shape[0])


NEAR, FAR = 3 / 4, 3 / 2
"""The interpolation points of m = 4, with both signs. Their products are scaled by `NEAR`."""


def data_2(d: Sequence[Scalar]) -> list[Scalar]:
    """B^T d of F(2, 3)."""
    return [d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]]


def result_2(t: Sequence[Scalar]) -> list[Scalar]:
    """A^T t of F(2, 3)."""
    return [t[0] + t[1] + t[2], t[1] - t[2] - t[3]]


def _data_4(d: Sequence[Scalar]) -> list[Scalar]:
    even, odd = d[4] + d[2] * -(FAR**2), d[3] + d[1] * -(FAR**2)
    near, far = d[4] + d[2] * -(NEAR**2), d[3] + d[1] * -(NEAR**2)
    middle, outer = -(NEAR**2 + FAR**2), NEAR**2 * FAR**2
    return [
        d[4] + d[2] * middle + d[0] * outer,
        even + odd * NEAR,
        even + odd * -NEAR,
        near + far * FAR,
        near + far * -FAR,
        d[5] + d[3] * middle + d[1] * outer,
    ]


def _result_4(t: Sequence[Scalar]) -> list[Scalar]:
    sum_1, sum_2 = t[1] + t[2], t[3] + t[4]
    difference_1, difference_2 = t[1] - t[2], t[3] - t[4]
    return [
        t[0] + (sum_1 + sum_2) * (1 / NEAR),
        difference_1 + difference_2 * 2.0,
        (sum_1 + sum_2 * 4.0) * NEAR,
        t[5] + (difference_1 + difference_2 * 8.0) * NEAR**2,
    ]


def _data_2_apart(d: Sequence[Scalar]) -> list[Scalar]:
    return [d[0] - d[2], d[2], d[4] - d[2], d[1], d[3]]


def _result_2_apart(t: Sequence[Scalar]) -> list[Scalar]:
    return [t[0] + t[1] + t[3], t[1] + t[2] + t[4]]


def _data_2_of_2(d: Sequence[Scalar]) -> list[Scalar]:
    return [d[0] - d[1], d[1], d[2] - d[1]]


def _result_2_of_2(t: Sequence[Scalar]) -> list[Scalar]:
    return [t[0] + t[1], t[1] + t[2]]


Filterings = Mapping[tuple[int, int, int], Filtering]
"""By the outputs of a tile, the taps and the stride."""

FILTERINGS: Filterings = {
    (2, 2, 1): Filtering(
        2,
        2,
        3,
        np.array([[1, 0], [1, 1], [0, 1]]),
        _data_2_of_2,
        _result_2_of_2,
    ),
    (2, 3, 1): Filtering(
        2,
        2,
        4,
        np.array([[1, 0, 0], [1 / 2, 1 / 2, 1 / 2], [1 / 2, -1 / 2, 1 / 2], [0, 0, 1]]),
        data_2,
        result_2,
    ),
    (4, 3, 1): Filtering(
        4,
        4,
        6,
        np.array(
            [
                [64 / 81, 0, 0],
                [-32 / 81, -24 / 81, -18 / 81],
                [-32 / 81, 24 / 81, -18 / 81],
                [8 / 81, 12 / 81, 18 / 81],
                [8 / 81, -12 / 81, 18 / 81],
                [0, 0, 1],
            ]
        ),
        _data_4,
        _result_4,
    ),
    (2, 3, 2): Filtering(
        2,
        4,
        5,
        np.array([[1, 0, 0], [1, 0, 1], [0, 0, 1], [0, 1, 0], [0, 1, 0]]),
        _data_2_apart,
        _result_2_apart,
    ),
}
"""Those of floats.

F(4 x 4) with stride 2 took as long as F(2 x 2) for 128 channels of 28 x 28 and longer for smaller
images: its taps are 81 for each 9."""


CACHED_TAPS = 1 << 14
"""So many taps are transformed at a time."""


@dataclass(frozen=True, eq=False, slots=True)
class PlaneFiltering:
    """The transforms along the rows and along the columns of a plane."""

    rows: Filtering
    columns: Filtering

    @property
    def products(self) -> int:
        """The elements of a transformed window."""
        return self.rows.products * self.columns.products


def plane_filtering(
    outputs: int,
    stride: int,
    phases: tuple[Phases, Phases],
    known: Filterings = FILTERINGS,
) -> PlaneFiltering | None:
    """The transforms for tiles of so many outputs of each phase of the rows and of the columns.

    None if there are none. Rows or columns without taps stay as they are.
    """
    rows, columns = (_along(outputs, stride, each, known) for each in phases)
    return None if rows is None or columns is None else PlaneFiltering(rows, columns)


def _along(outputs: int, stride: int, phases: Phases, known: Filterings) -> Filtering | None:
    """The transforms along one dimension."""
    if all(phase.taps == 1 for phase in phases):
        outputs = stride = 1
    parts = [_of_taps(outputs, stride, phase.taps, known) for phase in phases]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    return found[0] if len(found) == 1 else _interleaved(phases, found)


def _of_taps(outputs: int, stride: int, taps: int, known: Filterings) -> Filtering | None:
    if taps == 1:
        return Filtering(outputs, outputs, outputs, np.ones((outputs, 1)), list, list)
    return known.get((outputs, taps, stride))


def _interleaved(phases: Phases, parts: Sequence[Filtering]) -> Filtering:
    """The transforms of phases whose results take turns: those of each one, one after the other."""
    outputs, step = parts[0].outputs, parts[0].step
    windows = [range(p.start, p.start + f.window) for p, f in zip(phases, parts, strict=True)]
    ends = list(accumulate(part.products for part in parts))

    def data(d: Sequence[Scalar]) -> list[Scalar]:
        own = ([d[position] for position in window] for window in windows)
        return [e for part, some in zip(parts, own, strict=True) for e in part.data(some)]

    def result(t: Sequence[Scalar]) -> list[Scalar]:
        found = [p.result(t[end - p.products : end]) for p, end in zip(parts, ends, strict=True)]
        return [each[position] for position in range(outputs) for each in found]

    window = max(each.stop for each in windows)
    taps = _block_diagonal([part.taps for part in parts])
    return Filtering(outputs * len(parts), step, window, taps, data, result)


def _block_diagonal(blocks: Sequence[np.ndarray]) -> np.ndarray:
    found = np.zeros(np.sum([block.shape for block in blocks], axis=0))
    row = column = 0
    for block in blocks:
        found[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return found


def rows_of_taps(filtering: Filtering) -> Rows:
    """The elements of G g, as expressions."""
    return _linear_map(filtering.taps.tolist())


def rows_of_taps_adjoint(filtering: Filtering) -> Rows:
    """The elements of G^T u."""
    return _linear_map(filtering.taps.T.tolist())


def rows_of_result_adjoint(filtering: Filtering) -> Rows:
    """The elements of A a, whose transpose the filtering has."""
    units = np.eye(filtering.products).tolist()
    columns = [filtering.result([literal(value, "float64") for value in unit]) for unit in units]
    return _linear_map([[float(scalar_value(e, {}, {})) for e in column] for column in columns])


def _linear_map(matrix: Sequence[Sequence[float]]) -> Rows:
    """The products of a matrix and a column.

    Each is a sum over even positions and one over odd ones: rows that differ in the sign of the odd
    ones share both.
    """

    def rows(column: Sequence[Scalar]) -> list[Scalar]:
        return [_combined(row, column) for row in matrix]

    return rows


def _combined(factors: Sequence[float], values: Sequence[Scalar]) -> Scalar:
    """The sum of values with their factors, of which one is not zero."""
    terms = list(zip(factors, values, strict=True))
    even, odd = ([term for term in terms[first::2] if term[0] != 0] for first in (0, 1))
    if not even or not odd:
        return _sum(even or odd)
    if odd[0][0] > 0:
        return _sum(even) + _sum(odd)
    return _sum(even) - _sum([(-factor, value) for factor, value in odd])


def _sum(terms: Sequence[tuple[float, Scalar]]) -> Scalar:
    (factor, value), *others = terms
    total: Scalar = value if factor == 1 else value * factor
    for factor, value in others:
        term = value if abs(factor) == 1 else value * abs(factor)
        total = total + term if factor > 0 else total - term
    return total


def transformed_taps(
    filtering: PlaneFiltering, taps: np.ndarray, dtype: np.dtype | None = None
) -> np.ndarray:
    """G g G^T of `taps` (rows, columns, .., inputs, outputs): (products, .., inputs, outputs).

    Rounded once, from float64, to `dtype` (by default that of the taps); a few inputs at a time, so
    that these stay in a cache.
    """
    down, across = filtering.rows.taps, filtering.columns.taps
    inputs = taps.shape[-2]
    result = np.empty((len(down), len(across), *taps.shape[2:]), dtype or taps.dtype)
    step = max(1, CACHED_TAPS // max(1, prod(taps.shape) // inputs))
    for begin in range(0, inputs, step):
        some = taps[..., begin : begin + step, :].astype(np.float64)
        rows = np.tensordot(down, some, (1, 0))
        both = np.tensordot(across, rows, (1, 1))
        result[..., begin : begin + step, :] = both.swapaxes(0, 1)
    return result.reshape(-1, *taps.shape[2:])
