from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from relay_tune.building.build import build
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret

Check = Callable[..., None]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("Elu", {"alpha": 0.7}),
        ("Selu", {}),
        ("Celu", {"alpha": 2.0}),
        ("HardSigmoid", {"alpha": 0.3}),
        ("HardSwish", {}),
        ("Mish", {}),
        ("Softplus", {}),
        ("Softsign", {}),
        ("ThresholdedRelu", {"alpha": 0.4}),
        ("LeakyRelu", {"alpha": 0.2}),
        ("Shrink", {"lambd": 0.6, "bias": 0.1}),
        ("Gelu", {}),
        ("Gelu", {"approximate": "tanh"}),
        ("IsInf", {"detect_negative": 0}),
    ],
)
def test_activation(check_node: Check, operator: str, attributes: dict[str, object]) -> None:
    check_node(operator, floats(3, 5) * 3, **attributes)


@pytest.mark.parametrize("operator", ["Div", "Mod"])
def test_integer_quotients_of_all_signs(check_node: Check, operator: str) -> None:
    left = np.array([7, -7, 7, -7, 0, 9], np.int32)
    right = np.array([2, 2, -2, -2, 3, 9], np.int32)
    check_node(operator, left, right)
    if operator == "Mod":
        check_node(operator, left, right, fmod=1)


def test_softplus_of_large_numbers_does_not_overflow(check_node: Check) -> None:
    check_node("Softplus", np.array([-200.0, -1.0, 0.0, 100.0], np.float32))


@pytest.mark.parametrize("axes", [(0,), (1, -1), ()])
@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize(
    "operator",
    ["ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"],
)
def test_reduction(check_node: Check, operator: str, axes: tuple[int, ...], keep: int) -> None:
    check_node(operator, floats(2, 3, 4), constants={1: ints(*axes)}, keepdims=keep)


def test_reduction_axes_were_an_attribute(check_node: Check) -> None:
    check_node("ReduceMax", floats(2, 3, 4), axes=[1], opset=12)


def test_log_sum_exp_of_large_numbers(check_node: Check) -> None:
    check_node("ReduceLogSumExp", np.array([[1000.0, 1000.0]], np.float32), keepdims=0)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize(("opset", "axis"), [(12, 1), (13, 1), (13, -1)])
def test_softmax_flattened_before_version_13(
    check_node: Check, operator: str, opset: int, axis: int
) -> None:
    check_node(operator, floats(2, 3, 4), opset=opset, axis=axis, against="onnxruntime")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((3,), (6, 3, 4)),
        ((2, 1, 2, 3), (5, 3, 4)),
    ],
)
def test_matmul(check_node: Check, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check_node("MatMul", floats(*left), floats(*right))


def test_gemm(check_node: Check) -> None:
    bias = floats(4)
    check_node("Gemm", floats(3, 2), floats(4, 3), bias, transA=1, transB=1, alpha=0.5, beta=2.0)


@pytest.mark.parametrize(
    "attributes",
    [
        {"pads": [1, 0, 1, 2]},
        {"strides": [2, 1], "dilations": [1, 2]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
        {"auto_pad": "VALID"},
    ],
)
def test_conv(check_node: Check, attributes: dict[str, object]) -> None:
    check_node("Conv", floats(2, 3, 8, 7), floats(4, 3, 3, 2), floats(4), **attributes)


def test_grouped_conv_1d(check_node: Check) -> None:
    check_node("Conv", floats(1, 4, 9), floats(6, 2, 3), group=2)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [2, 3], "output_padding": [1, 1]},
        {"pads": [1, 1, 0, 1]},
        {"strides": [3, 2], "output_shape": [12, 8]},
        {"dilations": [2, 2]},
    ],
)
def test_conv_transpose(check_node: Check, attributes: dict[str, object]) -> None:
    check_node("ConvTranspose", floats(1, 2, 4, 3), floats(2, 3, 3, 3), **attributes)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    "attributes",
    [
        {"strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"strides": [2, 2], "ceil_mode": 1},
        {"strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    ],
)
def test_pool(check_node: Check, operator: str, attributes: dict[str, object]) -> None:
    check_node(operator, floats(1, 2, 8, 7), kernel_shape=[3, 3], **attributes)


def test_average_pool_counts_padding_but_not_what_ceil_adds(check_node: Check) -> None:
    check_node(
        "AveragePool",
        floats(1, 1, 6, 6),
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[1, 1, 0, 0],
        ceil_mode=1,
        count_include_pad=1,
    )


@pytest.mark.parametrize("order", [1, 2, 3])
def test_lp_pool(check_node: Check, order: int) -> None:
    check_node("LpPool", floats(1, 2, 6, 6), kernel_shape=[2, 2], p=order)


def test_batch_normalization(check_node: Check) -> None:
    positive = np.abs(floats(3)) + 0.5
    check_node("BatchNormalization", floats(2, 3, 4, 4), floats(3), floats(3), floats(3), positive)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("axis", [-1, 1])
def test_layer_normalization(check_node: Check, outputs: int, axis: int) -> None:
    shape = (2, 3, 4)
    scale, bias = floats(*shape[axis:]), floats(*shape[axis:])
    check_node("LayerNormalization", floats(*shape), scale, bias, axis=axis, outputs=outputs)


def test_group_and_instance_normalization(check_node: Check) -> None:
    check_node("GroupNormalization", floats(2, 4, 3, 3), floats(4), floats(4), num_groups=2)
    check_node("InstanceNormalization", floats(2, 4, 3, 3), floats(4), floats(4))


@pytest.mark.parametrize("size", [3, 5])
def test_local_response_normalization(check_node: Check, size: int) -> None:
    check_node(
        "LRN", floats(2, 6, 3, 3), size=size, alpha=0.1, beta=0.6, bias=1.5, against="onnxruntime"
    )


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad(check_node: Check, mode: str) -> None:
    check_node("Pad", floats(3, 4), constants={1: ints(0, 2, 1, 3)}, mode=mode)


def test_negative_pads_cut(check_node: Check) -> None:
    check_node("Pad", floats(4, 5), constants={1: ints(-1, 2, 0, -2)}, against="onnxruntime")


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ((1,), (3,), (0,), (1,)),
        ((-1,), (-100,), (1,), (-1,)),
        ((0, 1), (10, -1), (0, 1), (2, 1)),
        ((3,), (1,), (1,), (-2,)),
        ((2,), (2,), (0,), (1,)),
        ((2**63 - 1,), (-(2**63),), (1,), (-1,)),
    ],
)
def test_slice(
    check_node: Check,
    starts: tuple[int, ...],
    ends: tuple[int, ...],
    axes: tuple[int, ...],
    steps: tuple[int, ...],
) -> None:
    bounds = {1: ints(*starts), 2: ints(*ends), 3: ints(*axes), 4: ints(*steps)}
    check_node("Slice", floats(4, 5), constants=bounds)


def test_gather_counts_negative_indices_from_the_end(check_node: Check) -> None:
    check_node("Gather", floats(4, 5), np.array([[0, -1], [2, -4]], np.int64), axis=0)
    check_node("Gather", floats(4, 5), constants={1: np.array(-1, np.int64)}, axis=1)


def test_gather_elements_and_nd(check_node: Check) -> None:
    check_node("GatherElements", floats(3, 3), np.array([[0, -1, 2]], np.int64), axis=0)
    check_node("GatherND", floats(2, 3, 4), np.array([[0, -1], [1, 0]], np.int64))
    check_node("GatherND", floats(2, 3, 4), np.array([[2], [0]], np.int64), batch_dims=1)


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
def test_scatter(check_node: Check, reduction: str) -> None:
    indices = np.array([[2], [-4]], np.int64)
    check_node("ScatterND", floats(4, 5), indices, floats(2, 5), reduction=reduction)
    check_node(
        "ScatterElements",
        floats(4, 5),
        np.array([[1, -1, 0]], np.int64),
        floats(1, 3),
        axis=1,
        reduction=reduction,
    )


def test_shapes(check_node: Check) -> None:
    check_node("Reshape", floats(2, 3, 4), constants={1: ints(0, -1)})
    check_node("Expand", floats(3, 1), constants={1: ints(2, 1, 4)})
    check_node("Tile", floats(2, 3), constants={1: ints(2, 2)})
    check_node("Squeeze", floats(1, 3, 1), constants={1: ints(-1)})
    check_node("Unsqueeze", floats(3), constants={1: ints(2, 0)})
    check_node("Flatten", floats(2, 3, 4), axis=-1)
    check_node("DepthToSpace", floats(1, 8, 2, 3), blocksize=2, mode="CRD")
    check_node("SpaceToDepth", floats(1, 2, 4, 6), blocksize=2)
    check_node("Trilu", floats(4, 5), constants={1: np.array(-1, np.int64)}, upper=0)


def test_split(check_node: Check) -> None:
    check_node("Split", floats(7, 2), outputs=3, num_outputs=3)
    check_node("Split", floats(7, 2), constants={1: ints(2, 5)}, outputs=2)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(
    "coordinates", ["half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
)
@pytest.mark.parametrize("scale", [0.6, 2.0, 1.7])
def test_resize(check_node: Check, mode: str, coordinates: str, scale: float) -> None:
    scales = np.array([1, 1, scale, 1.5], np.float32)
    check_node(
        "Resize",
        floats(1, 2, 5, 4),
        None,
        constants={2: scales},
        mode=mode,
        coordinate_transformation_mode=coordinates,
        rtol=1e-3,
    )


def test_antialiased_resize(check_node: Check) -> None:
    check_node(
        "Resize",
        floats(1, 1, 8, 8),
        None,
        None,
        constants={3: ints(1, 1, 3, 5)},
        mode="cubic",
        antialias=1,
        rtol=1e-3,
    )


@pytest.mark.parametrize("largest", [0, 1])
def test_topk(check_node: Check, largest: int) -> None:
    check_node("TopK", floats(3, 6), constants={1: ints(4)}, outputs=2, largest=largest)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_cumsum(check_node: Check, exclusive: int, reverse: int) -> None:
    axis = {1: np.array(1, np.int64)}
    check_node("CumSum", floats(3, 4), constants=axis, exclusive=exclusive, reverse=reverse)


def test_one_hot(check_node: Check) -> None:
    depth = {1: np.array(4, np.int64)}
    values = np.array([0.5, 2.0], np.float32)
    check_node("OneHot", ints(1, -1, 3), None, values, constants=depth, axis=0)


def test_quantization(check_node: Check) -> None:
    scale, zero = np.array([0.05, 0.1, 0.2], np.float32), np.array([3, 128, 250], np.uint8)
    check_node("QuantizeLinear", floats(2, 3) * 9, scale, zero, axis=1)
    integers = np.arange(6, dtype=np.uint8).reshape(2, 3) * 40
    check_node("DequantizeLinear", integers, scale, zero, axis=1)
    check_node("DynamicQuantizeLinear", floats(3, 4), outputs=3)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_quantized_nan_is_the_least_number(check_node: Check, dtype: type) -> None:
    for of in (np.float32, np.float16):  # float16 has no 32767 and no 65535
        x = np.array([np.nan, np.inf, -np.inf, 6e4, -6e4, 3], of)
        inputs = (x, np.array(0.5, of), np.array(1, dtype))
        check_node("QuantizeLinear", *inputs, against="onnxruntime", native=of is np.float16)


def test_integer_matrix_product(check_node: Check) -> None:
    left = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
    right = np.arange(8, dtype=np.uint8).reshape(4, 2) * 30
    check_node("MatMulInteger", left, right, np.array(12, np.uint8), np.array(100, np.uint8))


@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_recurrent_network(check_node: Check, operator: str, direction: str) -> None:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]
    check_node(
        operator,
        floats(3, 2, 4),
        floats(1, gates * 5, 4),
        floats(1, gates * 5, 5),
        floats(1, 2 * gates * 5),
        outputs=2,
        hidden_size=5,
        direction=direction,
        rtol=1e-3,
    )


@pytest.mark.parametrize("shape", [(3, 4), (5,)])
def test_nonzero_of_a_computed_tensor(check_node: Check, shape: tuple[int, ...]) -> None:
    check_node("NonZero", np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np.float32))


@pytest.mark.parametrize("count", [1, 3, 16])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_top_k_takes_nan_as_the_greatest(
    node_model: Callable[..., onnx.ModelProto], dtype: str, largest: int, count: int
) -> None:
    """By a heap and by sorting; equal elements keep their order."""
    data = np.array([1, np.nan, 3, 2, np.nan, -0.0, 0, -np.inf, np.inf, 3] + [2] * 6, dtype)
    model = node_model("TopK", [data], constants={1: ints(count)}, outputs=2, largest=largest)
    expected = ReferenceEvaluator(model).run(None, {"x0": data})
    module = from_onnx(model)
    for found in (interpret(module, data), build(module, threads=1)(data)):
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_quantized_constants_are_known_at_import() -> None:
    """Numbers that are stored as bytes are still numbers that the import can ask for."""
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        g (float[1, 1, 2, 1] x) => (float[1, 1, 4, 1] y)
        <uint8[4] q = {5, 5, 7, 5}, float s = {0.5}, uint8 z = {3}>
        {
            scales = DequantizeLinear(q, s, z)
            y = Resize<mode = "nearest">(x, , scales)
        }""")
    found = interpret(from_onnx(model), np.array([1, 2], np.float32).reshape(1, 1, 2, 1))
    assert found.reshape(-1).tolist() == [1, 1, 2, 2]
