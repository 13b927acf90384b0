"""Long sums in levels: which they are, and what they are good for."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.schedule.loops.sum_levels import sum_levels
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.expression import Axis, Scalar, reduce
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.nest_spaces import only_nest


def column_sums(*extents: int, operation: str = "sum") -> Nest:
    """Sums over all axes but the last one; between the others lies what is not read."""
    x = input_tensor("x", (*(extent + 1 for extent in extents), 8), "float32")
    axes = [Axis(f"k{number}", extent) for number, extent in enumerate(extents)]
    return only_nest(compute("y", (8,), lambda c: reduce(operation, axes, x[(*axes, c)])))


def lengths(nest: Nest) -> list[list[int]]:
    """Of the levels, outermost first."""
    return [[axis.extent for axis in level.axes] for level in sum_levels(nest, nest.reduction)]


@pytest.mark.parametrize(
    ("extents", "expected"),
    [
        ((32768,), [[32], [32], [32]]),
        ((4096,), [[64], [64]]),
        ((3000,), [[50], [60]]),
        ((4099,), [[4099]]),
        ((500,), [[500]]),
        ((32, 32, 32), [[32], [32], [32]]),
        ((32, 4, 4), [[32], [4, 4]]),
        ((3, 64, 64), [[3, 64], [64]]),
        ((2, 1024), [[2, 32], [32]]),
        ((16, 16), [[16, 16]]),
    ],
)
def test_levels_of_sums(extents: tuple[int, ...], expected: list[list[int]]) -> None:
    assert lengths(column_sums(*extents)) == expected


def test_maxima_and_products_have_one_level() -> None:
    assert len(sum_levels(column_sums(32, 32, 32, operation="max"), ())) == 1
    a, b = input_tensor("a", (4, 4096), "float32"), input_tensor("b", (4096, 8), "float32")
    k = Axis("k", 4096)

    def product(i: Scalar, j: Scalar) -> Scalar:
        return reduce("sum", [k], a[i, k] * b[k, j])

    nest = only_nest(compute("p", (4, 8), product))
    assert lengths(nest) == [[4096]]


@pytest.mark.parametrize(
    "shape",
    [(32, 32, 32, 16), (7, 31, 33, 5), (8192, 16), (2, 3000, 24), (4099, 3), (1, 256, 256, 1)],
)
@pytest.mark.parametrize("accuracy", ["exact", "fast"])
def test_sums_of_many_numbers_of_one_sign_are_right(shape: tuple[int, ...], accuracy: str) -> None:
    data = np.random.default_rng(0).uniform(1, 2, shape).astype(np.float32)
    text = f"def @main(%x: Tensor[{shape}, float32]) {{ sum(%x, axis=[-1], exclude=True) }}"
    found = rt.build(rt.parse(text), accuracy=accuracy)(data)
    expected = data.reshape(-1, shape[-1]).sum(axis=0, dtype=np.float64)
    bound = 4e-6 if shape == (4099, 3) else 1e-6
    np.testing.assert_allclose(found, expected, rtol=bound)
