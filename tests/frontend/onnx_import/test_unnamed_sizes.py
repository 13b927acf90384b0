"""Operators that split and join axes, of data whose sizes only a run knows (`?`).

Compress leaves as many rows as its condition says. Several axes of one tensor may be `?`: none is
taken for another.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from relay_tune.building.build import build
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret

EINSUMS = {
    "ibh,hnd->ibnd": ((5, 4, 6), (6, 2, 3)),
    "bih,bjh->bij": ((4, 5, 6), (4, 5, 6)),
    "bhwc,hkc->bhwk": ((3, 4, 5, 6), (4, 3, 6)),
    "ijk,lk->lij": ((3, 4, 5), (2, 5)),
    "nctw,cd->ndtw": ((2, 3, 4, 5), (3, 7)),
    "abc,cde->adbe": ((3, 4, 5), (5, 2, 3)),
}


def _floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _model(
    node: onnx.NodeProto, shape: tuple[int, ...], axes: tuple[int, ...], weights: dict[str, Any]
) -> bytes:
    """The node behind a Compress along each of the axes, whose results have these sizes at most."""
    nodes, name = [], "x"
    for axis in axes:
        nodes.append(helper.make_node("Compress", [name, f"keep{axis}"], [f"x{axis}"], axis=axis))
        name = f"x{axis}"
    nodes.append(helper.make_node("Identity", [name], ["data"]))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    inputs += [
        helper.make_tensor_value_info(f"keep{axis}", TensorProto.BOOL, [shape[axis]])
        for axis in axes
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph([*nodes, node], "g", inputs, [output], tensors)
    imports = [helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9).SerializeToString()


def _check(
    node: onnx.NodeProto, shape: tuple[int, ...], known: int | None = None, **weights: np.ndarray
) -> None:
    """What onnxruntime gives, whichever axes but a known one are `?`, with all rows and half."""
    free = [axis for axis in range(len(shape)) if axis != known]
    for count in (1, 2, len(free)):
        for axes in combinations(free, count):
            model = _model(node, shape, axes, weights)
            module = from_onnx(model)
            session = onnxruntime.InferenceSession(model)
            for part in (1, 2):
                keeps = {f"keep{axis}": np.arange(shape[axis]) % part == 0 for axis in axes}
                inputs = {"x": _floats(*shape), **keeps}
                try:
                    (wanted,) = session.run(None, inputs)
                except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
                    continue  # half of an axis that weights, too, have
                except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument:
                    continue
                found = interpret(module, *inputs.values())
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("equation", EINSUMS)
def test_products_in_einsteins_notation(equation: str) -> None:
    shape, weights = EINSUMS[equation]
    _check(
        helper.make_node("Einsum", ["data", "w"], ["y"], equation=equation),
        shape,
        w=_floats(*weights),
    )


def test_a_product_with_itself() -> None:
    _check(helper.make_node("Einsum", ["data"] * 2, ["y"], equation="bih,cjh->bicj"), (4, 5, 6))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_channels_become_pixels(mode: str) -> None:
    node = helper.make_node("DepthToSpace", ["data"], ["y"], blocksize=2, mode=mode)
    _check(node, (2, 8, 4, 6))


def test_pixels_become_channels() -> None:
    _check(helper.make_node("SpaceToDepth", ["data"], ["y"], blocksize=2), (2, 3, 4, 8))


def test_flattening() -> None:
    _check(helper.make_node("Flatten", ["data"], ["y"], axis=2), (3, 4, 5))


def test_groups_of_channels() -> None:
    node = helper.make_node("GroupNormalization", ["data", "scale", "bias"], ["y"], num_groups=2)
    _check(node, (2, 4, 6, 5), known=1, scale=_floats(4), bias=_floats(4) + 1)


def _up_to_three(*nodes: onnx.NodeProto) -> None:
    """Nodes that read rows, whose number only a run knows, and `count`, at most three of them."""
    before = [
        helper.make_node("Compress", ["x", "keep"], ["rows"], axis=0),
        helper.make_node("Shape", ["rows"], ["size"], start=0, end=1),
        helper.make_node("Min", ["size", "three"], ["count"]),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 2]),
        helper.make_tensor_value_info("keep", TensorProto.BOOL, [8]),
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in nodes[-1].output]
    numbers = {"three": [3], "zero": [0]}
    tensors = [numpy_helper.from_array(np.array(v), name) for name, v in numbers.items()]
    graph = helper.make_graph([*before, *nodes], "g", inputs, outputs, tensors)
    imports = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=9).SerializeToString()
    module, session = from_onnx(model), onnxruntime.InferenceSession(model)
    for rows in (8, 4, 3, 2):
        given = {"x": _floats(8, 2), "keep": np.arange(8) < rows}
        found = interpret(module, *given.values())
        results = found if isinstance(found, tuple) else (found,)
        for ours, wanted in zip(results, session.run(None, given), strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)


def test_a_bound_that_only_a_run_knows_is_not_the_end_of_such_an_axis() -> None:
    _up_to_three(helper.make_node("Slice", ["rows", "zero", "count", "zero"], ["y"]))


def test_as_many_of_the_largest_as_only_a_run_knows() -> None:
    _up_to_three(helper.make_node("TopK", ["rows", "count"], ["y", "places"], axis=0))


def _run_with_parts(
    nodes: list[onnx.NodeProto],
    parts: dict[str, tuple[tuple[int, ...], int]],
    sizes: list[tuple[int, ...]],
    weights: dict[str, np.ndarray],
) -> None:
    """Nodes that read parts of inputs, each so long along its own axis as sizes say, natively."""
    before, inputs = [], []
    for name, (shape, axis) in parts.items():
        before.append(helper.make_node("Compress", [f"{name}0", f"{name}1"], [name], axis=axis))
        inputs.append(helper.make_tensor_value_info(f"{name}0", TensorProto.FLOAT, shape))
        inputs.append(helper.make_tensor_value_info(f"{name}1", TensorProto.BOOL, [shape[axis]]))
    outputs = [onnx.ValueInfoProto(name="y")]
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph([*before, *nodes], "g", inputs, outputs, tensors)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    file = helper.make_model(graph, opset_imports=imports, ir_version=9).SerializeToString()
    session, model = onnxruntime.InferenceSession(file), build(from_onnx(file), threads=1)
    for each in sizes:
        given: dict[str, np.ndarray] = {}
        for (name, (shape, axis)), size in zip(parts.items(), each, strict=True):
            given |= {f"{name}0": _floats(*shape), f"{name}1": np.arange(shape[axis]) < size}
        np.testing.assert_allclose(
            model(**given), session.run(None, given)[0], rtol=1e-4, atol=1e-5
        )


def test_queries_and_keys_may_be_unequally_many() -> None:
    inputs = {"q": ((1, 6, 8), 1), "k": ((1, 6, 8), 1), "v": ((1, 6, 8), 1)}
    kind = {"domain": "com.microsoft", "num_heads": 2, "unidirectional": 1}
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], **kind)
    _run_with_parts([node], inputs, [(6, 6, 6), (1, 4, 4)], {})


def test_a_scale_of_one_element_is_for_all() -> None:
    node = helper.make_node("LayerNormalization", ["x", "s"], ["y"])
    _run_with_parts([node], {"x": ((3, 6), 1), "s": ((6,), 0)}, [(4, 4), (4, 1)], {})


@pytest.mark.parametrize("width", [16, 32])
def test_a_flat_row_may_have_several_images(width: int) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Reshape", ["c", "shape"], ["f"]),
        helper.make_node("MatMul", ["f", "d"], ["y"]),
    ]
    weights = {"w": _floats(4, 3, 3, 3), "d": _floats(width, 5), "shape": np.array([-1, width])}
    _run_with_parts(nodes, {"x": ((6, 3, 4, 4), 0)}, [(2,), (6,)], weights)
