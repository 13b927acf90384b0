"""The transforms of Winograd's minimal filtering F(m x m, 3 x 3), as expressions.

An output tile of m x m is A^T ((G g G^T) * (B^T d B)) A for a window of (m + 2) x (m + 2) elements
d and taps g. Matrices from Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks"
(2016), section 4.1, for the interpolation points 0, 1, -1 (m = 2) and 0, 1, -1, 2, -2 (m = 4).

With stride 2 the elements at even places meet the outer two taps with stride 1, which is F(m, 2),
and those at odd places meet the tap between them: 2 m + 1 products in place of 3 m.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from relay_tune.tensor.expression import Scalar

Rows = Callable[[Sequence[Scalar]], list[Scalar]]


@dataclass(frozen=True, eq=False, slots=True)
class Filtering:
    """The transforms F(m, 3) along one dimension.

    Attributes:
        outputs: m, the outputs of a tile.
        stride: how far the windows of two outputs are apart.
        taps: the matrix G, window x 3.
        data: the elements of B^T d, as many as the window has.
        result: the m elements of A^T t.
    """

    outputs: int
    stride: int
    taps: np.ndarray
    data: Rows
    result: Rows

    @property
    def window(self) -> int:
        """The inputs of a tile."""
        return self.stride * (self.outputs - 1) + 3


def _data_2(d: Sequence[Scalar]) -> list[Scalar]:
    return [d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]]


def _result_2(t: Sequence[Scalar]) -> list[Scalar]:
    return [t[0] + t[1] + t[2], t[1] - t[2] - t[3]]


def _data_4(d: Sequence[Scalar]) -> list[Scalar]:
    even, odd = d[4] + d[2] * -4.0, d[3] + d[1] * -4.0
    near, far = d[4] - d[2], d[3] - d[1]
    return [
        d[4] + d[2] * -5.0 + d[0] * 4.0,
        even + odd,
        even - odd,
        near + far * 2.0,
        near + far * -2.0,
        d[5] + d[3] * -5.0 + d[1] * 4.0,
    ]


def _result_4(t: Sequence[Scalar]) -> list[Scalar]:
    sum_1, sum_2 = t[1] + t[2], t[3] + t[4]
    difference_1, difference_2 = t[1] - t[2], t[3] - t[4]
    return [
        t[0] + sum_1 + sum_2,
        difference_1 + difference_2 * 2.0,
        sum_1 + sum_2 * 4.0,
        difference_1 + difference_2 * 8.0 + t[5],
    ]


def _data_2_apart(d: Sequence[Scalar]) -> list[Scalar]:
    return [d[0] - d[2], d[2], d[4] - d[2], d[1], d[3]]


def _result_2_apart(t: Sequence[Scalar]) -> list[Scalar]:
    return [t[0] + t[1] + t[3], t[1] + t[2] + t[4]]


FILTERINGS = {
    (2, 1): Filtering(
        2,
        1,
        np.array([[1, 0, 0], [1 / 2, 1 / 2, 1 / 2], [1 / 2, -1 / 2, 1 / 2], [0, 0, 1]]),
        _data_2,
        _result_2,
    ),
    (4, 1): Filtering(
        4,
        1,
        np.array(
            [
                [1 / 4, 0, 0],
                [-1 / 6, -1 / 6, -1 / 6],
                [-1 / 6, 1 / 6, -1 / 6],
                [1 / 24, 1 / 12, 1 / 6],
                [1 / 24, -1 / 12, 1 / 6],
                [0, 0, 1],
            ]
        ),
        _data_4,
        _result_4,
    ),
    (2, 2): Filtering(
        2,
        2,
        np.array([[1, 0, 0], [1, 0, 1], [0, 0, 1], [0, 1, 0], [0, 1, 0]]),
        _data_2_apart,
        _result_2_apart,
    ),
}
"""By the outputs of a tile and the stride.

F(4 x 4) with stride 2 took as long as F(2 x 2) for 128 channels of 28 x 28 and longer for smaller
images: its taps are 81 for each 9."""


def transformed_taps(filtering: Filtering, taps: np.ndarray) -> np.ndarray:
    """G g G^T of `taps` (3, 3, .., inputs, outputs), as (window * window, .., inputs, outputs)."""
    matrix = filtering.taps.astype(taps.dtype)
    rows = np.tensordot(matrix, taps, (1, 0))
    both = np.tensordot(matrix, rows, (1, 1))
    return np.ascontiguousarray(both.swapaxes(0, 1)).reshape(-1, *taps.shape[2:])
