"""Expand to sizes that other tensors of the model have."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.ir.expr import Call
from relay_tune.ir.operator import find_operator
from relay_tune.ir.traversal import post_order
from tests.frontend.onnx_import.dynamic_models import RANDOM, check, ints, model_of, node

KINDS = [TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16]


def stretched(
    shape: list[int | str], wanted: str, kind: int = TensorProto.FLOAT
) -> onnx.ModelProto:
    """y = x expanded to sizes of z, which has n rows of m elements; a digit is a size itself."""
    nodes = [
        node("Shape", ["z"], ["n"], start=0, end=1),
        node("Shape", ["z"], ["m"], start=1, end=2),
        node("Concat", list(wanted), ["sizes"], axis=0),
        node("Expand", ["x", "sizes"], ["y"]),
    ]
    inputs = {"x": (kind, shape), "z": (TensorProto.FLOAT, ["n", "m"])}
    return model_of(nodes, inputs, {"1": ints(1), "3": ints(3)})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        (["n", 1, "m"], "1m1"),
        (["n", 1], "nm"),
        ([1, "m"], "nm"),
        ([1, "m", 1], "nm3"),
        (["m"], "3nm"),
        ([1, 1, 2], "nm1"),
    ],
)
def test_axes_of_one_element_are_stretched(kind: int, shape: list[int | str], wanted: str) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    feeds = []
    for sizes in ({"n": 3, "m": 5}, {"n": 1, "m": 1}, {"n": 4, "m": 1}):
        numbers = [sizes[size] if isinstance(size, str) else size for size in shape]
        x = RANDOM.integers(-3, 4, numbers).astype(dtype)
        feeds.append({"x": x, "z": np.zeros((sizes["n"], sizes["m"]), np.float32)})
    check(stretched(shape, wanted, kind), feeds)


def test_types_tell_which_axis_repeats() -> None:
    """A shape that arrives as numbers stretches any axis: each element's index is computed then."""
    module = from_onnx(stretched(["n", 1, "m"], "1m1"))
    callees = {each.callee for each in post_order(module.main.body) if isinstance(each, Call)}
    assert find_operator("broadcast_to_like") in callees
    assert find_operator("dyn.broadcast_to") not in callees
