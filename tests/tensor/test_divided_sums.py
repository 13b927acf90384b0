"""Quotients and remainders of one index, put together again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.divided_sums import rejoined
from relay_tune.tensor.expression import Axis, Binary, Scalar
from relay_tune.tensor.index import flat_index, simplify
from relay_tune.tensor.scalar_value import scalar_value

J, L, N = Axis("j", 36), Axis("l", 16), Axis("n", 2)
K = J * 32 + L * 2 + N


def taken_apart(index: Scalar, shape: tuple[int, ...]) -> list[Scalar]:
    """The indices of an element of a shape, by its number."""
    parts, rest = [], index
    for size in reversed(shape[1:]):
        parts.append(rest % size)
        rest = rest // size
    return [rest, *reversed(parts)]


@pytest.mark.parametrize("sizes", [(8, 12, 12), (8, 144), (2, 2, 2, 9, 16)])
def test_rows_of_images_lie_one_behind_the_other(sizes: tuple[int, ...]) -> None:
    found = axis_affine(
        simplify(flat_index((*sizes, 512), [*taken_apart(K, sizes), Axis("c", 512)]))
    )
    assert found is not None
    assert [found.coefficient(axis) for axis in (J, L, N)] == [16384, 1024, 512]


def test_padded_rows_stay_apart() -> None:
    images = flat_index((8, 14, 14, 512), [*taken_apart(K, (8, 12, 12)), Axis("c", 512)])
    assert axis_affine(simplify(images)) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.sampled_from(range(6))), min_size=2, max_size=6),
    st.sampled_from([2, 3, 4]),
    st.sampled_from([2, 3]),
)
def test_the_value_stays(terms: list[tuple[int, int]], outer: int, inner: int) -> None:
    k = Axis("k", 50)
    parts = [
        k % outer,
        k // outer,
        (k // outer) % inner,
        k // (outer * inner),
        k // outer // inner,
        k % (outer * inner),
    ]
    total: Scalar = parts[terms[0][1]] * terms[0][0]
    for factor, number in terms[1:]:
        total = total + parts[number] * factor
    if isinstance(total, Binary):
        after = rejoined(total)
        values = {k: np.arange(50)}
        np.testing.assert_array_equal(*(scalar_value(e, values, {}) for e in (total, after)))
