"""Reads at known indices that are evenly spaced become slices."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import IndexRangeError
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_name
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.simplify_expression import SimplifyExpression
from relay_tune.typing.infer import infer_types

X = np.arange(120, dtype=np.float32).reshape(4, 6, 5)


def _module(indices: object, axis: int, mode: str, dtype: str = "int64") -> Module:
    values = np.asarray(indices, dtype)
    shape = str(values.shape).replace(",)", ")")
    text = (
        f"def @main(%x: Tensor[(4, 6, 5), float32], %i: Tensor[{shape}, {dtype}]) "
        f'{{ take(%x, %i, axis={axis}, mode="{mode}") }}'
    )
    return infer_types(BindParameters({"i": values})(infer_types(parse(text))))


def _names(module: Module) -> set[str | None]:
    return {operator_name(node) for node in post_order(SimplifyExpression()(module).main)}


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    ("indices", "mode"),
    [
        (2, "clip"),
        (-1, "raise"),
        ([1, 2, 3], "fast"),
        ([0, 2], "raise"),
        ([3, 2, 1, 0], "clip"),
        ([3, 1], "clip"),
        ([[0, 1], [2, 3]], "raise"),
        ([-2, -1], "raise"),
        ([5], "wrap"),
        ([99], "clip"),
    ],
)
def test_evenly_spaced_indices_are_a_slice(indices: object, mode: str, axis: int) -> None:
    module = _module(indices, axis, mode, "int32")
    assert "take" not in _names(module)
    expected = interpret(module, X)
    np.testing.assert_array_equal(interpret(SimplifyExpression()(module), X), expected)
    if axis == 1:
        np.testing.assert_array_equal(build(module)(X), expected)


@pytest.mark.parametrize("indices", [[0, 1, 3], [1, 1], [0, 1, 9], [], [[0, 2], [1, 3]]])
def test_others_are_read_as_they_are(indices: object) -> None:
    assert "take" in _names(_module(indices, 0, "clip"))


def test_an_index_out_of_range_is_still_an_error() -> None:
    with pytest.raises(IndexRangeError):
        build(_module([2, 3, 4], 0, "raise"))


@pytest.mark.parametrize(
    ("indices", "mode", "left"),
    [
        ([[1]], "add", {"nn.pad"}),
        ([[1, 2]], "add", {"nn.pad"}),
        ([[0, 1, 2, 3]], "update", set()),
        ([[2, 1]], "add", {"scatter_nd"}),
        ([[1, 1]], "add", {"scatter_nd"}),
        ([[-1]], "add", {"scatter_nd"}),
        ([[1]], "mul", {"scatter_nd"}),
        ([[1], [1]], "add", {"scatter_nd"}),
        ([1], "add", {"nn.pad", "reshape"}),
    ],
)
def test_neighbours_that_are_written_into_zeros_are_padded(
    indices: object, mode: str, left: set[str]
) -> None:
    values = np.asarray(indices, np.int64)
    shape = (*values.shape[1:], *X.shape[len(values) :])
    text = (
        f"def @main(%x: Tensor[{shape}, float32], %z: Tensor[(4, 6, 5), float32], "
        f"%i: Tensor[{values.shape}, int64]) "
        f'{{ scatter_nd(%z, %i, %x, mode="{mode}") }}'
    ).replace(",), ", "), ")
    given = {"i": values, "z": np.zeros((4, 6, 5), np.float32)}
    module = infer_types(BindParameters(given)(infer_types(parse(text))))
    x = np.random.default_rng(0).random(shape, np.float32)
    np.testing.assert_array_equal(interpret(SimplifyExpression()(module), x), interpret(module, x))
    assert _names(module) - {None} == left
