"""Networks whose sizes only a run knows, against onnxruntime at several sizes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from relay_tune.building.build import build
from relay_tune.errors import RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.ir.expr import Call, Constant, Function
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import FuncType
from relay_tune.op.nn.matmul import dense
from relay_tune.op_rules.matching import static_shape
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text
from tests.frontend.onnx_import.dynamic_models import (
    FLOAT,
    RANDOM,
    Declared,
    check,
    floats,
    ints,
    model_of,
    node,
)

SHAPES = [(1, 1, 1), (2, 3, 4), (3, 8, 17)]


def reshaped(target: str) -> list[onnx.NodeProto]:
    """x (b, h, w) reshaped to products, quotients and single sizes of its own."""
    sizes = [node("Shape", ["x"], ["s"]), node("Split", ["s"], ["b", "h", "w"], axis=0)]
    products = [node("Mul", ["b", "h"], ["bh"]), node("Mul", ["h", "w"], ["hw"])]
    return [
        *sizes,
        *products,
        node("Concat", target.split(), ["t"], axis=0),
        node("Reshape", ["x", "t"], ["flat"]),
        node("Concat", ["w", "b", "h"], ["back"], axis=0),
        node("Reshape", ["flat", "back"], ["z"]),
        node("Relu", ["z"], ["y"]),
    ]


@pytest.mark.parametrize("target", ["bh w", "b hw", "h b w", "w one h b", "rest h", "b rest one"])
def test_several_unknown_sizes_in_a_reshape(target: str) -> None:
    weights = {"one": ints(1), "rest": ints(-1)}
    model = model_of(reshaped(target), {"x": (FLOAT, ["b", "h", "w"])}, weights)
    check(model, [{"x": floats(*shape)} for shape in SHAPES], interpret)
    if target in ("bh w", "h b w"):
        check(model, [{"x": floats(*shape)} for shape in SHAPES])


def test_group_norm_over_an_open_image() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Reshape", ["x", "groups"], ["g"]),
        node("InstanceNormalization", ["g", "one", "zero"], ["n"]),
        node("Reshape", ["n", "s"], ["y"]),
    ]
    weights = {"groups": ints(0, 2, -1), "one": np.ones(2, "f"), "zero": np.zeros(2, "f")}
    model = model_of(nodes, {"x": (FLOAT, ["b", 4, "h", "w"])}, weights)
    check(model, [{"x": floats(b, 4, h, 5)} for b, h in ((1, 1), (2, 3), (1, 16))])


def test_attention_with_a_past() -> None:
    """Keys that grow, a mask from ranges, batch and heads joined for the products."""
    nodes = [
        node("Concat", ["past", "k"], ["keys"], axis=2),
        node("Transpose", ["keys"], ["kt"], perm=[0, 1, 3, 2]),
        node("MatMul", ["q", "kt"], ["scores"]),
        node("Shape", ["keys"], ["total"], start=2, end=3),
        node("Shape", ["q"], ["new"], start=2, end=3),
        node("Sub", ["total", "new"], ["before"]),
        node("Squeeze", ["total"], ["total0"]),
        node("Squeeze", ["before"], ["before0"]),
        node("Range", ["zero", "total0", "one"], ["columns"]),
        node("Range", ["before0", "total0", "one"], ["rows"]),
        node("Unsqueeze", ["rows", "last"], ["rows1"]),
        node("Greater", ["columns", "rows1"], ["hidden"]),
        node("Where", ["hidden", "minus", "scores"], ["masked"]),
        node("Softmax", ["masked"], ["weights"], axis=-1),
        node("MatMul", ["weights", "keys"], ["y"]),
    ]
    weights = {
        "zero": np.int64(0),
        "one": np.int64(1),
        "last": ints(-1),
        "minus": np.float32(-1e9),
    }
    inputs = {
        "q": (FLOAT, ["b", 2, "t", 8]),
        "k": (FLOAT, ["b", 2, "t", 8]),
        "past": (FLOAT, ["b", 2, "p", 8]),
    }
    sizes = [(1, 1, 1), (2, 3, 5), (1, 1, 20)]
    feeds = [
        {"q": floats(b, 2, t, 8), "k": floats(b, 2, t, 8), "past": floats(b, 2, p, 8)}
        for b, t, p in sizes
    ]
    check(model_of(nodes, inputs, weights), feeds)


@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_recurrence_of_open_length_and_batch(operator: str, direction: str) -> None:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]
    count = 2 if direction == "bidirectional" else 1
    weights = {"w": floats(count, gates * 5, 3), "r": floats(count, gates * 5, 5)}
    layer = node(operator, ["x", "w", "r", "", "n"], ["y", "h"], hidden_size=5, direction=direction)
    inputs = {"x": (FLOAT, ["t", "b", 3]), "n": (TensorProto.INT32, ["b"])}
    model = model_of([layer], inputs, weights, ["y", "h"])
    feeds = []
    for time, batch in ((1, 1), (7, 2), (16, 3), (1, 8)):
        lengths = RANDOM.integers(1, time + 1, batch).astype(np.int32)
        feeds.append({"x": floats(time, batch, 3), "n": lengths})
    check(model, feeds, None if (operator, direction) == ("LSTM", "bidirectional") else interpret)


@pytest.mark.parametrize("sizes", [["t", 1, 3], ["t", "b", 3], [None, None, 3]])
@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
def test_inputs_of_all_steps_are_multiplied_before_the_steps(
    operator: str, sizes: list[str | int | None]
) -> None:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]
    weights = {"w": floats(1, gates * 5, 3), "r": floats(1, gates * 5, 5)}
    layer = node(operator, ["x", "w", "r"], ["y"], hidden_size=5)
    module = from_onnx(model_of([layer], {"x": (FLOAT, sizes)}, weights))
    steps = next(each for each in post_order(module.main.body) if isinstance(each, Function))
    features = {
        (static_shape(each.arguments[1]) or (0,))[-1]
        for each in post_order(steps.body)
        if isinstance(each, Call) and each.callee is dense
    }
    assert features == {5}  # those of the state
    if "t" not in sizes or "b" in sizes:
        assert "reshape" not in module.astext()  # which would copy all products


@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("start", ["none", "filled", "given"])
def test_the_first_step_has_no_products_with_a_state_of_zeros(operator: str, start: str) -> None:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]
    weights: dict[str, np.ndarray] = {"w": floats(1, gates * 5, 3), "r": floats(1, gates * 5, 5)}
    weights |= {"one": np.array([1]), "five": np.array([5])}
    inputs = {"x": (FLOAT, ["t", "b", 3])}
    nodes = []
    if start == "given":
        inputs["s"] = (FLOAT, [1, "b", 5])
    elif start == "filled":
        nodes = [
            node("Shape", ["x"], ["batch"], start=1, end=2),
            node("Concat", ["one", "batch", "five"], ["sizes"], axis=0),
            node("ConstantOfShape", ["sizes"], ["s"]),
        ]
    states = [] if start == "none" else ["", "", *["s"] * (2 if operator == "LSTM" else 1)]
    nodes.append(node(operator, ["x", "w", "r", *states], ["y", "h"], hidden_size=5))
    model = model_of(nodes, inputs, weights, ["y", "h"])
    steps = next(e for e in post_order(from_onnx(model).main.body) if isinstance(e, Function))
    of_constants = [
        isinstance(each.arguments[0], Constant)
        for each in post_order(steps.body)
        if isinstance(each, Call) and each.callee is dense
    ]
    assert any(of_constants) == (start != "given")
    feeds = []
    for time, batch in ((1, 1), (2, 3), (5, 1)):
        feeds.append({"x": floats(time, batch, 3)})
        if start == "given":
            feeds[-1]["s"] = floats(1, batch, 5)
    check(model, feeds)


def test_names_that_differ_for_equal_sizes() -> None:
    """Sizes without a name, and other names, meet in sums, products and joins."""
    nodes = [
        node("Add", ["x", "bias"], ["a"]),
        node("MatMul", ["a", "w"], ["m"]),
        node("Concat", ["m", "extra"], ["c"], axis=1),
        node("Softmax", ["c"], ["y"]),
    ]
    inputs: Declared = {
        "x": (FLOAT, ["b", "f"]),
        "bias": (FLOAT, [None, "g"]),
        "w": (FLOAT, ["features", 4]),
        "extra": (FLOAT, [None, 2]),
    }
    feeds = [
        {"x": floats(b, f), "bias": floats(b, f), "w": floats(f, 4), "extra": floats(b, 2)}
        for b, f in ((1, 1), (2, 3), (5, 8))
    ]
    model = model_of(nodes, inputs)
    check(model, feeds)
    wrong = {**feeds[1], "extra": floats(4, 2)}
    with pytest.raises(RelayError):
        build(from_onnx(model), threads=1)(**wrong)


def test_an_if_on_sizes_is_decided_where_it_is_the_same_for_all() -> None:
    def branch(name: str, operator: str) -> onnx.GraphProto:
        output = helper.make_tensor_value_info(name, FLOAT, None)
        return helper.make_graph([node(operator, ["x"], [name])], name, [], [output])

    nodes = [
        node("Shape", ["x"], ["n"], start=0, end=1),
        node("Add", ["n", "one"], ["more"]),
        node("Greater", ["more", "n"], ["always"]),
        node("Squeeze", ["always"], ["c"]),
        node("If", ["c"], ["y"], then_branch=branch("a", "Relu"), else_branch=branch("b", "Shape")),
    ]
    model = model_of(nodes, {"x": (FLOAT, ["n", 3])}, {"one": ints(1)})
    np.testing.assert_array_equal(interpret(from_onnx(model), x=np.full((2, 3), -1, "f")), 0)


@pytest.mark.parametrize("backwards", [0, 1])
def test_scan_of_open_length(backwards: int) -> None:
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Add", ["state", "row"], ["next"]), node("Mul", ["next", "row"], ["out"])],
        "body",
        [info("state", FLOAT, [3]), info("row", FLOAT, [3])],
        [info("next", FLOAT, [3]), info("out", FLOAT, [3])],
    )
    scan = node(
        "Scan",
        ["s", "x"],
        ["last", "y"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_input_directions=[backwards],
        scan_output_axes=[1],
        scan_output_directions=[backwards],
    )
    inputs: Declared = {"s": (FLOAT, [3]), "x": (FLOAT, [3, "t"])}
    model = model_of([scan], inputs, None, ["last", "y"])
    check(model, [{"s": floats(3), "x": floats(3, t)} for t in (1, 2, 9)])


@pytest.mark.parametrize(
    ("operator", "weight"), [("Conv", (4, 3, 3)), ("ConvTranspose", (6, 2, 3))]
)
def test_names_of_channels_that_a_weight_decides(operator: str, weight: tuple[int, ...]) -> None:
    layers = [node("Relu", ["x"], ["r"]), node(operator, ["r", "w"], ["y"], group=2)]
    model = model_of(layers, {"x": (FLOAT, [1, "c", 5])}, {"w": floats(*weight)})
    check(model, [{"x": floats(1, 6, 5)}])
    module = infer_types(from_onnx(model))
    assert isinstance(module.main.type, FuncType)
    assert "?" not in type_text(module.main.type.result)
    with pytest.raises(RelayError, match="'y'.* another size on axis 1 than 6"):
        build(module, threads=1)(floats(1, 4, 5))


def test_a_named_channel_axis_meets_what_batch_normalization_gives() -> None:
    nodes = [
        node("BatchNormalization", ["x", "scale", "scale", "scale", "scale"], ["normal"]),
        node("Concat", ["x", "normal"], ["both"], axis=0),
        node("Add", ["normal", "x"], ["y"]),
    ]
    weights = {"scale": np.arange(1, 4, dtype=np.float32)}
    model = model_of(nodes, {"x": (FLOAT, ["n", "c", "w"])}, weights, ["y", "both"])
    check(model, [{"x": floats(2, 3, 5)}])
