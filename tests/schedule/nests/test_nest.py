"""A nest, and the same one in other forms."""

from __future__ import annotations

from relay_tune.schedule.nests.nest import fuse_axes, with_roots
from relay_tune.tensor.expression import Axis, Scalar
from relay_tune.tensor.tensor import input_tensor
from relay_tune.tensor.walk import substitute
from tests.schedule.example_nests import convolution, nests_of, relu, shape_of


def test_the_body_is_evaluated_for_each_point() -> None:
    (nest,) = nests_of(relu(convolution(3)))
    assert nest.points == 2 * 6 * 8 * 24 * 3 * 48
    assert nest.roots == (nest.body, nest.result, nest.index)


def test_without_reduction_there_is_no_body() -> None:
    (nest,) = nests_of(relu(input_tensor("x", (7,), "float32")))
    assert nest.roots == (nest.result, nest.index)
    assert with_roots(nest, nest.roots, nest.axes, ()).roots == nest.roots


def test_neighbours_that_are_used_as_one_are_fused() -> None:
    (nest,) = nests_of(relu(input_tensor("x", (12,), "float32")))
    outer, inner = Axis("a", 3), Axis("b", 4)
    parts: dict[Axis, Scalar] = {nest.axes[0]: outer * 4 + inner}
    split = with_roots(nest, [substitute(root, parts) for root in nest.roots], (outer, inner), ())
    assert shape_of(split) == ([3, 4], [])
    assert shape_of(fuse_axes(split)) == ([12], [])
