from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest

from relay_tune import op
from relay_tune.errors import UnsupportedOperatorError
from relay_tune.frontend.onnx_export.table import OPERATOR_TRANSLATORS
from relay_tune.frontend.onnx_export.to_onnx import to_onnx
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.ir.dim import Symbol
from relay_tune.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    constant,
)
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types

Build = Callable[..., Expr]

assert op.__all__


def call(name: str, *arguments: Expr, **attributes: object) -> Call:
    operator = find_operator(name)
    assert operator is not None
    return operator(*arguments, **attributes)


def variable(name: str, shape: tuple[int, ...], dtype: str = "float32") -> Var:
    return Var(name, TensorType(shape, dtype))


def random_array(var: Var, seed: int) -> np.ndarray:
    type_ = var.annotation
    assert isinstance(type_, TensorType)
    random = np.random.default_rng(seed)
    if "float" in type_.dtype:
        return random.uniform(0.1, 0.9, type_.shape).astype(type_.dtype)
    return random.integers(0, 2, type_.shape).astype(type_.dtype)


def take_size(x: Expr, axis: int) -> Expr:
    return call("take", call("shape_of", x, dtype="int64"), constant(np.int64(axis)))


def weight(*shape: int) -> Constant:
    numbers = np.random.default_rng(len(shape)).uniform(0.2, 0.8, shape)
    return constant(numbers.astype(np.float32))


def check(params: tuple[Var, ...], body: Expr) -> onnx.ModelProto:
    """The exported model, after onnxruntime and a second import agreed with the interpreter."""
    module = Module.from_function(Function(params, body))
    inputs = {param.name: random_array(param, seed) for seed, param in enumerate(params)}
    expected = interpret(module, **inputs)
    model = to_onnx(module)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    again = interpret(from_onnx(model), **inputs)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    imported = again if isinstance(again, tuple) else (again,)
    for value, other, copy in zip(wanted, session.run(None, inputs), imported, strict=True):
        assert value.dtype == other.dtype == copy.dtype
        np.testing.assert_allclose(other, value, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(copy, value, rtol=1e-4, atol=1e-5)
    return model


def quantized(x: Expr, scale: Expr, zero: np.generic | np.ndarray, axis: int) -> Expr:
    """Stored and read again."""
    point = constant(np.asarray(zero))
    dtype = np.asarray(zero).dtype.name
    stored = call("qnn.quantize", x, scale, point, out_dtype=dtype, axis=axis)
    return call("qnn.dequantize", stored, scale, point, axis=axis)


def test_a_weight_that_several_products_read_is_there_once() -> None:
    x, y = variable("x", (2, 8)), variable("y", (3, 8))
    stored = constant(np.arange(32, dtype=np.int8).reshape(4, 8))
    scale, zero = constant(np.ones(4, np.float32)), constant(np.zeros(4, np.int8))
    for weight in (
        constant(np.ones((4, 8), np.float32)),
        call("qnn.dequantize", stored, scale, zero, axis=0),
    ):
        products = [call("nn.dense", each, weight) for each in (x, y)]
        model = check((x, y), Tuple(tuple(products)))
        assert sum(len(each.dims) == 2 for each in model.graph.initializer) == 1


UNARY = (
    "abs acos asin asinh atan atanh ceil copy cos cosh decisive erf exp fast_erf fast_exp "
    "fast_tanh floor isinf isnan log log10 log2 negative nn.dropout nn.gelu nn.leaky_relu nn.relu "
    "round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc nn.softmax nn.fast_softmax "
    "nn.log_softmax zeros_like ones_like nn.batch_flatten transpose argmax argmin sum mean min max "
    "prod"
).split()
BINARY = (
    "add subtract multiply divide floor_divide mod trunc_mod power maximum minimum equal "
    "not_equal less less_equal greater greater_equal"
).split()
INTEGER_BINARY = "bitwise_and bitwise_or bitwise_xor add multiply maximum equal".split()
LOGICAL = "logical_and logical_or logical_xor".split()


@pytest.mark.parametrize("name", UNARY)
def test_operators_of_one_tensor(name: str) -> None:
    x = variable("x", (2, 3, 4))
    check((x,), call(name, x))


@pytest.mark.parametrize("name", BINARY)
def test_operators_of_two_tensors_that_broadcast(name: str) -> None:
    x, y = variable("x", (2, 1, 4)), variable("y", (3, 1))
    check((x, y), call(name, x, y))


@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_operators_of_integers(name: str) -> None:
    x, y = variable("x", (2, 4), "int32"), variable("y", (4,), "int32")
    check((x, y), call(name, x, y))


@pytest.mark.parametrize("name", LOGICAL)
def test_operators_of_bools(name: str) -> None:
    x, y = variable("x", (2, 4), "bool"), variable("y", (4,), "bool")
    check((x, y), call("logical_not", call(name, x, y)))


IMAGE = (2, 4, 9, 8)
SHAPED: dict[str, Callable[[Var], Expr]] = {
    "acosh": lambda x: call("acosh", call("add", x, constant(1.0))),
    "adaptive_avg": lambda x: call("nn.adaptive_avg_pool2d", x, output_size=(3, 4)),
    "adaptive_max": lambda x: call("nn.adaptive_max_pool2d", x, output_size=(1, 1)),
    "all": lambda x: call("all", call("less", x, constant(0.8)), axis=(1,)),
    "any": lambda x: call("any", call("less", x, constant(0.2)), axis=(2, 3), keepdims=True),
    "arange": lambda x: call("add", x, call("arange", start=1, stop=9, step=1, dtype="float32")),
    "argmax_axis": lambda x: call("argmax", x, axis=2, keepdims=True),
    "avg_pool": lambda x: call("nn.avg_pool2d", x, pool_size=(3, 2), strides=(2, 2), padding=(1,)),
    "avg_pool_all": lambda x: call(
        "nn.avg_pool2d", x, pool_size=(3, 3), padding=(1, 1), count_include_pad=True
    ),
    "batch_norm": lambda x: TupleGetItem(
        call("nn.batch_norm", x, *(weight(4) for _ in range(4)), scale=False), 0
    ),
    "broadcast_to": lambda x: call("broadcast_to", x, shape=(3, *IMAGE)),
    "cast": lambda x: call("cast", call("multiply", x, constant(9.0)), dtype="int32"),
    "clip": lambda x: call("clip", x, a_min=0.3, a_max=0.6),
    "concatenate": lambda x: call("concatenate", Tuple((x, x)), axis=-1),
    "conv": lambda x: call(
        "nn.conv2d",
        x,
        weight(6, 2, 3, 2),
        strides=(2, 1),
        padding=(1, 0, 0, 2),
        dilation=(1, 2),
        groups=2,
    ),
    "conv_transpose": lambda x: call(
        "nn.conv2d_transpose",
        x,
        weight(4, 3, 3, 3),
        strides=(2, 2),
        padding=(1, 1),
        output_padding=(1, 1),
    ),
    "cumsum": lambda x: call("cumsum", x, axis=1, exclusive=True),
    "cumsum_flat": lambda x: call("cumsum", x),
    "depth_to_space": lambda x: call("nn.depth_to_space", x, block_size=2, mode="CRD"),
    "dense": lambda x: call("nn.bias_add", call("nn.dense", x, weight(5, 8)), weight(5), axis=-1),
    "expand_dims": lambda x: call("expand_dims", x, axis=-1, num_newaxis=2),
    "full": lambda x: call("add", x, call("full", constant(2.0), shape=(8,))),
    "full_like": lambda x: call("full_like", x, constant(2.0)),
    "gelu_tanh": lambda x: call("nn.gelu", x, approximate="tanh"),
    "global_avg": lambda x: call("nn.global_avg_pool2d", x),
    "global_max": lambda x: call("nn.global_max_pool2d", x),
    "group_norm": lambda x: call("nn.group_norm", x, weight(4), weight(4), num_groups=2),
    "instance_norm": lambda x: call("nn.instance_norm", x, weight(4), weight(4)),
    "l2_normalize": lambda x: call("nn.l2_normalize", x, eps=1e-6, axis=(1,)),
    "layer_norm": lambda x: call("nn.layer_norm", x, weight(8), weight(8), center=False),
    "lrn": lambda x: call("nn.lrn", x, size=3, alpha=0.1),
    "matmul": lambda x: call("nn.matmul", x, weight(9, 5), transpose_a=True),
    "batch_matmul": lambda x: call("nn.batch_matmul", x, x, transpose_b=True),
    "max_pool": lambda x: call("nn.max_pool2d", x, pool_size=3, strides=2, ceil_mode=True),
    "mean_axes": lambda x: call("mean", x, axis=(1,), exclude=True),
    "mirror_pad": lambda x: call(
        "nn.mirror_pad", x, pad_width=((0, 0), (0, 0), (1, 2), (0, 3)), mode="REFLECT"
    ),
    "pad": lambda x: call("nn.pad", x, constant(0.5), pad_width=((0, 0), (1, 0), (0, 2), (-1, 3))),
    "pad_edge": lambda x: call(
        "nn.pad", x, constant(0.0), pad_width=((0, 0), (0, 0), (1, 2), (0, 3)), pad_mode="edge"
    ),
    "prelu": lambda x: call("nn.prelu", call("negative", x), weight(4)),
    "repeat": lambda x: call("repeat", x, repeats=2, axis=1),
    "reshape": lambda x: call("reshape", x, newshape=(0, -1)),
    "reshape_like": lambda x: call("reshape_like", x, weight(8, 72)),
    "resize_linear": lambda x: call("image.resize2d", x, size=(12, 5)),
    "resize_nearest": lambda x: call(
        "image.resize2d",
        x,
        size=(18, 16),
        method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric",
    ),
    "reverse": lambda x: call("reverse", x, axis=1),
    "range": lambda x: call(
        "multiply",
        x,
        call("dyn.arange", *(constant(np.int64(n)) for n in (1, 17, 2)), dtype="float32"),
    ),
    "shape_of": lambda x: call("shape_of", x, dtype="int32"),
    "slice": lambda x: call(
        "strided_slice", x, begin=(1, -1), end=(7, None), strides=(2, -3), axes=(2, 3)
    ),
    "slice_like": lambda x: call("slice_like", x, weight(1, 2, 3, 4), axes=(1, 3)),
    "space_to_depth": lambda x: call(
        "nn.space_to_depth", call("nn.max_pool2d", x, pool_size=(2, 1)), block_size=2
    ),
    "split": lambda x: call("split", x, indices_or_sections=(2, 5), axis=2),
    "squeeze": lambda x: call("squeeze", call("sum", x, axis=(1,), keepdims=True), axis=(1,)),
    "stack": lambda x: call("stack", Tuple((x, x, x)), axis=-1),
    "sum_none": lambda x: call("sum", x, axis=()),
    "take": lambda x: call("take", x, constant(np.array([[2, 0]])), axis=1),
    "take_computed": lambda x: call("take", x, call("argmax", x, axis=(1,)), axis=1, mode="wrap"),
    "gather": lambda x: call("gather", x, call("argmax", x, axis=1, keepdims=True), axis=1),
    "tile": lambda x: call("tile", x, reps=(2, 1, 1, 1, 2)),
    "topk": lambda x: call("topk", x, k=3, axis=2),
    "topk_values": lambda x: call("topk", x, k=3, is_ascend=True, ret_type="values"),
    "upsampling": lambda x: call("nn.upsampling", x, scale_h=2, scale_w=2),
    "where": lambda x: call("where", call("less", x, constant(0.5)), x, constant(0.0)),
    "zeros": lambda x: call("concatenate", Tuple((x, call("zeros", shape=IMAGE))), axis=0),
    "ones": lambda x: call("concatenate", Tuple((x, call("ones", shape=IMAGE))), axis=0),
    "one_hot": lambda x: call(
        "one_hot", call("argmax", x, axis=1), constant(2.0), constant(-1.0), depth=4
    ),
    "cast_like": lambda x: call("cast_like", x, constant(np.zeros(3, "float64"))),
    "quantize": lambda x: quantized(x, constant(0.01), np.uint8(7), -1),
    "quantize_channels": lambda x: quantized(x, weight(4), np.array([1, 0, -2, 5], np.int8), 1),
    "quantize_one_zero": lambda x: quantized(x, weight(8), np.int8(1), -1),
    "quantize_words": lambda x: quantized(x, weight(9), np.arange(9, dtype=np.int16), 2),
    "broadcast_to_like": lambda x: call("broadcast_to_like", x, weight(3, *IMAGE)),
    "floor_mod": lambda x: call("floor_mod", call("cast", x, dtype="int32"), constant(3)),
    "floor_divide": lambda x: call(
        "floor_divide",
        call(
            "cast",
            call("subtract", call("multiply", x, constant(20.0)), constant(10.0)),
            dtype="int64",
        ),
        constant(np.array([3, -3, 1, -7, 2, 5, -5, -1])),
    ),
    "floor_divide_unsigned": lambda x: call(
        "floor_divide",
        call("cast", call("multiply", x, constant(20.0)), dtype="uint8"),
        constant(np.uint8(3)),
    ),
    "dyn_reshape": lambda x: call(
        "dyn.reshape", x, call("stack", Tuple((take_size(x, 1), constant(np.int64(-1)))))
    ),
    "bitwise_not": lambda x: call("bitwise_not", call("cast", x, dtype="int32")),
}


@pytest.mark.parametrize("name", SHAPED)
def test_operators_with_attributes(name: str) -> None:
    x = variable("x", IMAGE)
    check((x,), SHAPED[name](x))


def test_every_translator_is_tested() -> None:
    x = variable("x", IMAGE)
    tested = {*UNARY, *BINARY, *INTEGER_BINARY, *LOGICAL, "logical_not", "cast", "less"}
    tested.add("qnn.dequantize_blocks")  # in test_block_weights.py
    pending = [build(x) for build in SHAPED.values()]
    while pending:
        node = pending.pop()
        if isinstance(node, Call):
            tested.add(repr(node.callee))
            pending += node.arguments
        elif isinstance(node, TupleGetItem):
            pending.append(node.tuple_value)
        elif isinstance(node, Tuple):
            pending += node.fields
    other_ranks = {name for name in OPERATOR_TRANSLATORS if "1d" in name or "3d" in name}
    assert set(OPERATOR_TRANSLATORS) - other_ranks <= tested


def test_other_ranks_of_windows() -> None:
    x = variable("x", (1, 2, 6))
    pooled = call("nn.max_pool1d", call("nn.conv1d", x, weight(4, 2, 3), padding=1), pool_size=2)
    check((x,), call("nn.global_avg_pool1d", pooled))
    y = variable("y", (1, 2, 4, 4, 4))
    check((y,), call("nn.avg_pool3d", call("nn.conv3d", y, weight(3, 2, 2, 2, 2)), pool_size=2))


def test_bias_of_a_convolution_becomes_its_input() -> None:
    x = variable("x", (1, 2, 5, 5))
    body = call("nn.bias_add", call("nn.conv2d", x, weight(3, 2, 3, 3)), weight(3))
    model = check((x,), body)
    assert [node.op_type for node in model.graph.node] == ["Conv"]


def test_bias_stays_apart_where_the_convolution_has_another_reader() -> None:
    x = variable("x", (1, 2, 5, 5))
    convolved = call("nn.conv2d", x, weight(3, 2, 3, 3))
    model = check((x,), call("multiply", call("nn.bias_add", convolved, weight(3)), convolved))
    assert [node.op_type for node in model.graph.node] == ["Conv", "Add", "Mul"]


def test_let_and_several_outputs_some_of_them_equal() -> None:
    x, v = variable("x", (2, 3)), Var("v")
    y = call("exp", x)
    model = check((x,), Let(v, y, Tuple((v, call("add", v, x), v, x, weight(2)))))
    assert [value.name for value in model.graph.output] == [f"output{n}" for n in range(5)]


def test_names_of_inputs_and_outputs_survive() -> None:
    x = variable("pixels", (2, 3))
    function = Function((x,), call("exp", x))
    model = to_onnx(Module({"main": function}, attributes={"outputs": ("scores",)}))
    assert [value.name for value in model.graph.input] == ["pixels"]
    assert [value.name for value in model.graph.output] == ["scores"]


def test_symbolic_sizes_are_declared_by_name() -> None:
    x = Var("x", TensorType((Symbol("n"), 3), "float32"))
    body = call("reshape", call("exp", x), newshape=(-1, 3, 1))
    model = to_onnx(infer_types(Module.from_function(Function((x,), body))))
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    session = onnxruntime.InferenceSession(model.SerializeToString())
    data = np.ones((5, 3), np.float32)
    assert session.run(None, {"x": data})[0].shape == (5, 3, 1)


def test_repeated_elements_of_any_size() -> None:
    x = Var("x", TensorType((2, Symbol("n"), 3), "float32"))
    body = call("repeat", call("exp", x), repeats=3, axis=1)
    model = to_onnx(infer_types(Module.from_function(Function((x,), body))))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for size in (1, 5, 100):
        data = np.random.default_rng(1).random((2, size, 3), np.float32)
        (found,), expected = session.run(None, {"x": data}), np.exp(data).repeat(3, 1)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        np.testing.assert_allclose(interpret(from_onnx(model), data), expected, rtol=1e-6)


@pytest.mark.parametrize("mode", ["clip", "wrap", "fast"])
@pytest.mark.parametrize("axis", [1, -1, None])
def test_positions_on_an_axis_of_any_size(mode: str, axis: int | None) -> None:
    x = Var("x", TensorType((2, Symbol("n"), Symbol("m")), "float32"))
    given = [0, 2, -4, 30] if mode != "fast" else [0, 2, 1]
    positions = constant(np.array(given, np.int32))
    moved = call("take", call("exp", x), positions, axis=axis, mode=mode)
    module = infer_types(Module.from_function(Function((x,), moved)))
    model = to_onnx(module)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for sizes in ((3, 4), (5, 3)):
        data = np.random.default_rng(1).random((2, *sizes), np.float32)
        (found,), expected = session.run(None, {"x": data}), interpret(module, data)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        np.testing.assert_allclose(interpret(from_onnx(model), data), expected, rtol=1e-6)


def test_several_unknown_sizes_are_those_of_the_input() -> None:
    x = Var("x", TensorType((1, 4, 3, Symbol("s"), Symbol("p")), "float32"))
    joined = call("exp", call("reshape", x, newshape=(0, 0, -3, 0)))
    body = call("reshape", joined, newshape=(0, 0, -4, 3, -1, 0))
    model = to_onnx(infer_types(Module.from_function(Function((x,), body))))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    data = np.arange(120, dtype=np.float32).reshape(1, 4, 3, 2, 5) / 120
    np.testing.assert_allclose(session.run(None, {"x": data})[0], np.exp(data), rtol=1e-6)


def test_all_that_cannot_be_written_is_listed() -> None:
    x = variable("x", (1, 4, 5, 5))
    sorted_ = call("sort", x)
    blocked = call("nn.max_pool2d", sorted_, pool_size=(2, 2), layout="NHWC")
    with pytest.raises(UnsupportedOperatorError) as caught:
        to_onnx(Module.from_function(Function((x,), blocked)))
    assert caught.value.notes == (
        "operator sort",
        "operator nn.max_pool2d: layout NHWC; write NCHW",
    )


def test_control_flow_is_refused() -> None:
    x = variable("x", ())
    body = If(call("less", x, constant(0.0)), x, call("exp", x))
    with pytest.raises(UnsupportedOperatorError) as caught:
        to_onnx(Module.from_function(Function((x,), body)))
    assert caught.value.notes == ("an expression If",)
