"""Models whose batch or sequence length is known by name only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from relay_tune.building.build import build
from relay_tune.errors import InputError, RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.ir.dim import Symbol
from relay_tune.ir.types import TensorType
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types

RANDOM = np.random.default_rng(5)


def weight(name: str, *shape: int) -> onnx.TensorProto:
    return numpy_helper.from_array(RANDOM.standard_normal(shape).astype(np.float32), name)


def numbers(name: str, *values: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def scalar(name: str, value: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(value, np.int64), name)


def make(
    nodes: list[onnx.NodeProto], shape: list[int | str | None], weights: list[onnx.TensorProto]
) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [x], [onnx.ValueInfoProto(name="y")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def check(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> None:
    module = from_onnx(model)
    infer_types(module)
    expected = ReferenceEvaluator(model).run(None, dict(feeds))[0]
    np.testing.assert_allclose(interpret(module, **feeds), expected, rtol=1e-4, atol=1e-5)


def convolution_network() -> onnx.ModelProto:
    """A convolution, a pool, and a head that flattens by a computed shape."""
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["a", "s", "s", "s", "v"], ["b"]),
        node("GlobalAveragePool", ["b"], ["p"]),
        node("Shape", ["p"], ["shape"]),
        node("Gather", ["shape", "zero"], ["n"], axis=0),
        node("Unsqueeze", ["n", "axes"], ["n1"]),
        node("Concat", ["n1", "rest"], ["target"], axis=0),
        node("Reshape", ["p", "target"], ["f"]),
        node("Gemm", ["f", "m"], ["y"], transB=1),
    ]
    positive = numpy_helper.from_array(np.ones(4, np.float32), "v")
    weights = [weight("w", 4, 3, 3, 3), weight("s", 4), positive, weight("m", 5, 4)]
    weights += [scalar("zero", 0), numbers("axes", 0), numbers("rest", -1)]
    return make(nodes, ["batch", 3, 8, 8], weights)


def attention() -> onnx.ModelProto:
    """Two heads; batch and sequence length are symbols, and heads are split by computed shapes."""
    node = helper.make_node
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["n"]),
        node("Gather", ["shape", "one"], ["t"]),
        node("Unsqueeze", ["n", "axes"], ["n1"]),
        node("Unsqueeze", ["t", "axes"], ["t1"]),
        node("Concat", ["n1", "t1", "heads"], ["split"], axis=0),
        node("Concat", ["n1", "t1", "width"], ["joined"], axis=0),
    ]
    for name in "qkv":
        order = [0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]
        nodes += [
            node("MatMul", ["x", f"w{name}"], [f"{name}p"]),
            node("Reshape", [f"{name}p", "split"], [f"{name}s"]),
            node("Transpose", [f"{name}s"], [name], perm=order),
        ]
    nodes += [
        node("MatMul", ["q", "k"], ["scores"]),
        node("Softmax", ["scores"], ["share"], axis=-1),
        node("MatMul", ["share", "v"], ["mixed"]),
        node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        node("Reshape", ["back", "joined"], ["out"]),
        node("Add", ["out", "x"], ["y"]),
    ]
    weights = [weight(f"w{name}", 6, 6) for name in "qkv"]
    weights += [scalar("zero", 0), scalar("one", 1), numbers("axes", 0)]
    weights += [numbers("heads", 2, 3), numbers("width", 6)]
    return make(nodes, ["batch", "time", 6], weights)


@pytest.mark.parametrize("batch", [1, 3])
def test_convolution_network_with_a_symbolic_batch(batch: int) -> None:
    check(convolution_network(), {"x": RANDOM.standard_normal((batch, 3, 8, 8)).astype("float32")})


def test_symbol_reaches_the_result() -> None:
    module = from_onnx(convolution_network())
    assert module.main.result_type == TensorType((Symbol("batch"), 5), "float32")


@pytest.mark.parametrize(("batch", "time"), [(1, 4), (2, 7)])
def test_attention_with_symbolic_batch_and_time(batch: int, time: int) -> None:
    check(attention(), {"x": RANDOM.standard_normal((batch, time, 6)).astype("float32")})


def test_bound_sizes_are_numbers_everywhere() -> None:
    module = from_onnx(attention(), shapes={"x": (2, 5, 6)})
    assert module.main.params[0].type == TensorType((2, 5, 6), "float32")
    assert module.main.result_type == TensorType((2, 5, 6), "float32")


def test_sizes_without_a_name_get_one() -> None:
    module = from_onnx(make([helper.make_node("Relu", ["x"], ["y"])], [None, 3], []))
    assert module.main.result_type == TensorType((Symbol("x_0"), 3), "float32")


@pytest.mark.parametrize(
    "shapes", [{"x": (2, 5)}, {"x": (2, 5, 7)}, {"z": (1,)}, {"x": (2, -5, 6)}]
)
def test_shapes_that_do_not_fit(shapes: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(InputError):
        from_onnx(attention(), shapes=shapes)


def grid_head() -> onnx.ModelProto:
    """27 channels split into 3 anchors of 9 values, on images of any size."""
    node = helper.make_node
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["n"], axis=0),
        node("Gather", ["shape", "last"], ["size"], axis=0),
        node("Concat", ["n", "anchors", "size"], ["split"], axis=0),
        node("Reshape", ["x", "split"], ["cut"]),
        node("Transpose", ["cut"], ["moved"], perm=[0, 1, 3, 4, 2]),
        node("Concat", ["n", "rest", "nine"], ["flat"], axis=0),
        node("Reshape", ["moved", "flat"], ["y"]),
    ]
    weights = [numbers("zero", 0), numbers("last", 2, 3), numbers("anchors", 3, 9)]
    weights += [numbers("rest", -1), numbers("nine", 9)]
    return make(nodes, ["batch", 27, "height", "width"], weights)


@pytest.mark.parametrize("sizes", [(1, 4, 5), (2, 3, 1)])
def test_split_of_one_axis_beside_open_ones(sizes: tuple[int, int, int]) -> None:
    batch, height, width = sizes
    data = RANDOM.standard_normal((batch, 27, height, width)).astype(np.float32)
    check(grid_head(), {"x": data})


def test_axes_of_size_one_come_and_go_beside_open_ones() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "sizes"], ["open"], axis=0),
        helper.make_node("Concat", ["ones", "open", "two"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    weights = [numbers("sizes", 1, 2), numbers("ones", 1, 1), numbers("two", 2)]
    data = RANDOM.standard_normal((1, 3, 5, 2)).astype(np.float32)
    check(make(nodes, [1, "height", "width", 2], weights), {"x": data})


def test_two_axes_become_one_beside_an_open_one() -> None:
    """Heads that are repeated for grouped queries."""
    nodes = [
        helper.make_node("Concat", ["x", "x"], ["twice"], axis=2),
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "third"], ["time"], axis=0),
        helper.make_node("Concat", ["front", "time", "back"], ["target"], axis=0),
        helper.make_node("Reshape", ["twice", "target"], ["y"]),
    ]
    weights = [numbers("third", 3), numbers("front", 2, -1), numbers("back", 8)]
    data = RANDOM.standard_normal((2, 2, 1, 5, 8)).astype(np.float32)
    check(make(nodes, [2, 2, 1, "time", 8], weights), {"x": data})


def test_ranges_and_expansions_to_open_sizes() -> None:
    """A causal mask over past and new positions, as decoders make it."""
    node = helper.make_node
    nodes = [
        node("Concat", ["past", "x"], ["all"], axis=0),
        node("Shape", ["x"], ["xs"]),
        node("Shape", ["past"], ["ps"]),
        node("Gather", ["xs", "zero"], ["t"], axis=0),
        node("Gather", ["ps", "zero"], ["p"], axis=0),
        node("Add", ["p", "t"], ["total"]),
        node("Range", ["zero", "total", "one"], ["columns"]),
        node("Range", ["p", "total", "one"], ["rows"]),
        node("Unsqueeze", ["rows", "last"], ["rows2"]),
        node("Less", ["rows2", "columns"], ["later"]),
        node("Unsqueeze", ["t", "first"], ["t1"]),
        node("Unsqueeze", ["total", "first"], ["total1"]),
        node("Concat", ["t1", "total1"], ["shape"], axis=0),
        node("Expand", ["half", "shape"], ["ones"]),
        node("MatMul", ["ones", "all"], ["sums"]),
        node("Where", ["later", "bias", "ones"], ["weights"]),
        node("MatMul", ["weights", "all"], ["masked"]),
        node("Add", ["sums", "masked"], ["y"]),
    ]
    weights = [scalar("zero", 0), scalar("one", 1), numbers("last", 1), numbers("first", 0)]
    weights.append(numpy_helper.from_array(np.array(0.5, np.float32), "half"))
    weights.append(numpy_helper.from_array(np.array(-2.0, np.float32), "bias"))
    model = make(nodes, ["new", 4], weights)
    model.graph.input.append(helper.make_tensor_value_info("past", TensorProto.FLOAT, ["old", 4]))
    for new, old in ((1, 5), (3, 2)):
        x, past = (RANDOM.standard_normal((n, 4)).astype(np.float32) for n in (new, old))
        check(model, {"x": x, "past": past})
    built = build(from_onnx(model), threads=1)
    expected = ReferenceEvaluator(model).run(None, {"x": x, "past": past})[0]
    np.testing.assert_allclose(built(x, past), expected, rtol=1e-4, atol=1e-5)


def test_size_that_is_a_number_after_all_is_a_constant() -> None:
    """Half of the channels, asked for at run time, beside an open size."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "one"], ["channels"], axis=0),
        helper.make_node("Div", ["channels", "two"], ["half"]),
        helper.make_node("Slice", ["x", "half", "channels", "axis"], ["y"]),
    ]
    weights = [numbers("one", 1), numbers("two", 2), numbers("axis", 1)]
    check(make(nodes, ["n", 6], weights), {"x": RANDOM.standard_normal((3, 6)).astype("float32")})


def test_open_size_that_is_needed_says_how_to_bind_it() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Slice", ["x", "zero", "one", "places"], ["y"]),
    ]
    with pytest.raises(RelayError, match="--shape x=512 ") as error:
        from_onnx(make(nodes, ["n"], [numbers("zero", 0), numbers("one", 1)]))
    assert "from_onnx(model, shapes=" in str(error.value)


def test_outputs_keep_their_names() -> None:
    nodes = [helper.make_node("Split", ["x"], ["a", "b"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    outputs = [onnx.ValueInfoProto(name=name) for name in ("b", "a")]
    graph = helper.make_graph(nodes, "g", [x], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    module = from_onnx(model)
    assert module.attributes["outputs"] == ("b", "a")
    first, second = interpret(module, np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(first, [2, 3])
    np.testing.assert_array_equal(second, [0, 1])


def test_value_for_an_input_makes_it_a_constant() -> None:
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    model = make(nodes, [2, 3], [])
    model.graph.input.append(helper.make_tensor_value_info("axes", TensorProto.INT64, [1]))
    module = from_onnx(model, constants={"axes": np.array([1], np.int64)})
    assert [param.name for param in module.main.params] == ["x"]
    assert module.main.result_type == TensorType((2,), "float32")


SHAPE = "s = Shape (x) flat = Constant <value_ints = [-1]> () zero = Constant <value_int = 0> ()"
FILLED = " r = Reshape (z, flat) y = ConstantOfShape <value = int64[1] {7}> (r)"
LAST = " one = Constant <value_int = 1> () y = Gather (z, one)"


@pytest.mark.parametrize(
    "body",
    [
        # joined along another axis than the first
        "c = Constant <value_ints = [2, 1]> () u = Reshape (s, c) z = Concat <axis = 1> (u, u)"
        + FILLED,
        # one element, of more than one axis
        "n = Slice (s, a, b) u = Unsqueeze (n, a) z = Concat <axis = 1> (u, u)" + FILLED,
        # sizes that are copied
        "k = Constant <value_ints = [0]> () u = Unsqueeze (s, k) t = Constant"
        " <value_ints = [0, -1, 1]> () z = Reshape (u, t)" + FILLED,
        # a size that is no truth value
        "c = Cast <to = 9> (s) d = Not (c) e = Cast <to = 7> (d) z = Add (e, zero)" + LAST,
        # bytes that wrap around
        "c = Constant <value_ints = [300]> () v = Mul (s, c) d = Cast <to = 2> (v)"
        " z = Cast <to = 7> (d)" + LAST,
        # no axis, so that nothing is added
        "e = Constant <value = int64[0] {}> () z = ReduceSum <noop_with_empty_axes = 1> (s, e)"
        + FILLED,
    ],
)
def test_elements_of_sizes_of_any_rank(body: str) -> None:
    graph = "g (float[n, 2] x) => (int64 y) <int64[1] a = {0}, int64[1] b = {1}>"
    text = f'<ir_version: 8, opset_import: ["" : 17]> {graph} {{ {SHAPE} {body} }}'
    check(parser.parse_model(text), {"x": np.zeros((5, 2), np.float32)})
