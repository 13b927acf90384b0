from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from relay_tune.building.build import build
from relay_tune.errors import RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.op.block_quantization import packed_numbers

Check = Callable[..., None]
NodeModel = Callable[..., onnx.ModelProto]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def numbers(*shape: int, dtype: str = "uint8") -> np.ndarray:
    info = np.iinfo(dtype)
    random = np.random.default_rng(sum(shape))
    return random.integers(info.min, info.max + 1, shape).astype(dtype)


def scale(value: float) -> np.ndarray:
    return np.array(value, np.float32)


@pytest.fixture
def check_steps(node_model: NodeModel) -> Check:
    """Results as onnxruntime's, up to one step where they are rounded between."""

    def run(operator: str, *inputs: np.ndarray | None, steps: int = 1, **options: object) -> None:
        of_softmax = options.pop("softmax_opset", None)
        model = node_model(operator, inputs, domain="com.microsoft", **options)
        if of_softmax is not None:
            model.graph.node[0].attribute.append(helper.make_attribute("opset", of_softmax))
        feeds = {f"x{n}": each for n, each in enumerate(inputs) if each is not None}
        actual = build(from_onnx(model))(**feeds)
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        (wanted,) = session.run(None, feeds)
        assert (actual.dtype, actual.shape) == (wanted.dtype, wanted.shape)
        assert np.abs(actual.astype(np.float64) - wanted.astype(np.float64)).max() <= steps

    return run


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_elements(check_steps: Check, dtype: str) -> None:
    zero = np.array(7, dtype)
    left = (numbers(3, 4, dtype=dtype), scale(0.1), zero)
    right = (numbers(4, dtype=dtype), scale(0.05), np.array(3, dtype))
    for operator in ("QLinearAdd", "QLinearMul"):
        check_steps(operator, *left, *right, scale(0.2), zero)
    check_steps("QLinearSigmoid", *left, scale(1 / 256), np.array(0, dtype))
    check_steps("QLinearLeakyRelu", *left, scale(0.1), zero, alpha=0.2)


def test_pools_and_softmax(check_steps: Check) -> None:
    data = (numbers(2, 3, 6, 5), scale(0.1), np.array(100, np.uint8))
    result = (scale(0.05), np.array(90, np.uint8))
    check_steps("QLinearGlobalAveragePool", *data, *result)
    check_steps(
        "QLinearAveragePool", *data, *result, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4
    )
    table = (numbers(3, 6), scale(0.05), np.array(100, np.uint8))
    result = (scale(1 / 256), np.array(0, np.uint8))
    check_steps("QLinearSoftmax", *table, *result, softmax_opset=13, axis=-1)


def test_concatenation(check_steps: Check) -> None:
    first = (numbers(2, 3), scale(0.1), np.array(100, np.uint8))
    second = (numbers(2, 4), scale(0.2), np.array(50, np.uint8))
    check_steps("QLinearConcat", scale(0.2), np.array(80, np.uint8), *first, *second, axis=1)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("segments", [False, True])
def test_embeddings(check_microsoft: Check, dtype: str, segments: bool) -> None:
    words = np.array([[3, 1, 0], [2, 2, 4]], np.int32)
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    tables = [numbers(*shape, dtype=dtype) for shape in ((5, 8), (6, 8), (2, 8), (8,), (8,))]
    scales = [scale(0.01 * (n + 1)) for n in range(5)]
    zeros = [np.array(3 * n, dtype) for n in range(5)]
    known = dict(zip([*range(2, 7), *range(8, 18)], [*tables, *scales, *zeros], strict=True))
    if not segments:
        known = {at: each for at, each in known.items() if at not in (4, 10, 15)}
    inputs = (words, words % 2 if segments else None, *(None,) * 5, mask, *(None,) * 10)
    check_microsoft("QEmbedLayerNormalization", *inputs, constants=known, outputs=2)


def test_products_in_integers(check_steps: Check, check_microsoft: Check) -> None:
    # onnxruntime's sums of bytes saturate where weights take all of their eight bits
    left = (numbers(3, 8), scale(0.02), np.array(120, np.uint8))
    columns = np.linspace(0.01, 0.05, 5).astype(np.float32)
    right = (numbers(5, 8, dtype="int8") // 2, columns, np.zeros(5, np.int8))
    bias = np.arange(5, dtype=np.int32) * 100
    result = (scale(0.5), np.array(128, np.uint8))
    check_steps("QGemm", *left, *right, bias, *result, transB=1)
    matrix = numbers(8, 5, dtype="int8") // 2
    check_microsoft(
        "MatMulIntegerToFloat",
        *(left[0], matrix, left[1], columns, left[2], np.zeros(5, np.int8), floats(5)),
    )
    check_microsoft(
        "DynamicQuantizeMatMul", floats(3, 8), matrix, columns, np.zeros(5, np.int8), floats(5)
    )


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zero", [False, True])
def test_weights_of_few_bits(check_microsoft: Check, bits: int, zero: bool) -> None:
    rows, size, block = 6, 40, 16
    blocks = 3
    weights = {1: numbers(rows, blocks, block * bits // 8), 2: np.abs(floats(rows * blocks)) * 0.1}
    if zero:
        weights[3] = numbers(rows * -(-blocks * bits // 8))
    check_microsoft(
        "MatMulNBits",
        floats(2, 3, size),
        constants=weights,
        **{"K": size, "N": rows, "bits": bits, "block_size": block},
    )


def block_file(level: int, weights: np.ndarray, scales: np.ndarray, rows: int) -> onnx.ModelProto:
    """A product with numbers of 4 bits in blocks of 64."""
    count, blocks, _ = weights.shape
    size = 64 * blocks
    node = helper.make_node(
        "MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft",
        K=size, N=count, bits=4, block_size=64, accuracy_level=level,
    )  # fmt: skip
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", [rows, size]), ("y", [rows, count]))
    ]
    known = [numpy_helper.from_array(a, n) for a, n in ((weights, "w"), (scales, "s"))]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], known)
    versions = [helper.make_opsetid(*each) for each in (("", 18), ("com.microsoft", 1))]
    return helper.make_model(graph, opset_imports=versions, ir_version=9)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("columns", [1, 16])
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_a_recurrent_network_of_integers(
    check_steps: Check, node_model: NodeModel, dtype: str, columns: int, direction: str
) -> None:
    count = 2 if direction == "bidirectional" else 1
    shape = (count, columns) if columns > 1 else (count,)
    zero = 3 if columns == 1 else 0  # it refuses others for columns
    parameters = np.full(shape, 0.01, np.float32), np.full(shape, zero, dtype)
    lengths = np.array([5, 2], np.int32)
    state = floats(count, 2, 4)
    # of 7 bits: without VNNI, onnxruntime saturates the sums of two products of bytes
    weights = (numbers(count, size, 16, dtype=dtype) // 2 for size in (6, 4))
    given = (floats(5, 2, 6), *weights)
    rest = (floats(count, 32), lengths, state, state, floats(count, 12))
    inputs = (*given, *rest, *parameters, *parameters)
    # it rounds the input, and the state of each step, to bytes
    options = {"direction": direction, "hidden_size": 4}
    check_steps("DynamicQuantizeLSTM", *inputs, steps=0.05, **options)
    real = [((each - np.float32(zero)) * 0.01).transpose(0, 2, 1) for each in given[1:]]
    results = []
    for operator, domain, arrays in (
        ("DynamicQuantizeLSTM", "com.microsoft", inputs),
        ("LSTM", "", (given[0], *real, *rest)),
    ):
        model = node_model(operator, arrays, domain=domain, **options)
        results.append(build(from_onnx(model))(*arrays))
    np.testing.assert_allclose(*results, atol=1e-6)


def grouped_file(bits: int, zero: bool, groups: np.ndarray, size: int = 80) -> tuple:
    """A product whose columns belong to these groups, and its weights in float64.

    onnxruntime 1.32 is no reference: with g_idx it ignores zero points, and reads 4 bits only.
    """
    rows, block, digits = 12, 16, 2**bits
    rng = np.random.default_rng(bits)
    numbers = rng.integers(0, digits, (rows, 80)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.1, (rows, 5)).astype(np.float32)
    zeros = rng.integers(0, digits, (rows, 5)).astype(np.uint8)
    known = {
        "w": packed_numbers(numbers, bits).reshape(rows, 5, -1),
        "s": scales.reshape(-1),
        "g": groups.astype(np.int32),
    }
    if zero:
        known["z"] = packed_numbers(zeros, bits).reshape(-1)
    node = helper.make_node(
        "MatMulNBits", ["x", "w", "s", "z" if zero else "", "g"], ["y"], domain="com.microsoft",
        K=size, N=rows, bits=bits, block_size=block,
    )  # fmt: skip
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", columns])
        for name, columns in (("x", size), ("y", rows))
    ]
    given = [numpy_helper.from_array(value, name) for name, value in known.items()]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], given)
    versions = [helper.make_opsetid(*each) for each in (("", 18), ("com.microsoft", 1))]
    offsets = zeros if zero else np.full_like(zeros, digits // 2)
    weights = numbers - offsets.astype(float)[:, groups % 5]
    file = helper.make_model(graph, opset_imports=versions, ir_version=9)
    return file, weights * scales[:, groups % 5]


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("order", ["as they are", "permuted", "of other sizes"])
def test_columns_belong_to_groups(bits: int, zero: bool, order: str) -> None:
    rng = np.random.default_rng(3)
    groups = np.arange(80) // 16
    if order == "permuted":
        groups = rng.permutation(groups)
    if order == "of other sizes":
        groups = rng.integers(0, 5, 80)
    file, weights = grouped_file(bits, zero, groups)
    module = from_onnx(file)
    assert ("qnn.dequantize_blocks" in module.astext()) == (order != "of other sizes")
    model = build(module)
    for rows in (1, 7):
        data = rng.standard_normal((rows, 80)).astype(np.float32)
        wanted = data.astype(np.float64) @ weights.T
        assert np.abs(model(data) - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_groups_are_checked() -> None:
    for groups in (np.full(80, 5), np.full(80, -1), np.zeros(79, int)):
        file, _ = grouped_file(4, False, np.resize(groups, 80))
        file.graph.initializer[2].CopyFrom(numpy_helper.from_array(groups.astype(np.int32), "g"))
        with pytest.raises(RelayError, match="g_idx has to have 80 numbers from 0 to 4"):
            from_onnx(file)


@pytest.mark.parametrize("channels_last", [0, 1])
def test_images_with_their_channels_last(check_steps: Check, channels_last: int) -> None:
    image = numbers(2, 3, 6, 5)
    if channels_last:
        image = image.transpose(0, 2, 3, 1).copy()
    data = (image, scale(0.1), np.array(100, np.uint8))
    result = (scale(0.05), np.array(90, np.uint8))
    option = {"channels_last": channels_last}
    check_steps("QLinearGlobalAveragePool", *data, *result, **option)
    check_steps("QLinearAveragePool", *data, *result, kernel_shape=[2, 3], strides=[1, 2], **option)
    weights = (numbers(4, 3, 2, 3, dtype="int8") // 2, scale(0.01), np.array(0, np.int8))
    convolution = (*data, *weights, scale(0.5), np.array(128, np.uint8))
    check_steps("QLinearConv", *convolution, pads=[1, 0, 0, 2], **option)


def test_data_of_level_4_lose_no_more_digits_than_elsewhere() -> None:
    """The error against float64 beside that of onnxruntime at the same level."""
    rng = np.random.default_rng(5)
    weights = rng.integers(0, 256, (48, 4, 32)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.1, 48 * 4).astype(np.float32)
    digits = np.stack([weights & 15, weights >> 4], -1).reshape(48, 4, 64) - 8.0
    exact = (digits * scales.reshape(48, 4, 1)).reshape(48, 256)
    data = rng.standard_normal((32, 256)).astype(np.float32)
    errors = {}
    for level in (0, 4):
        file = block_file(level, weights, scales, 32)
        module = from_onnx(file)
        assert ('activations="int8"' in module.astext()) == (level == 4)
        session = onnxruntime.InferenceSession(file.SerializeToString())
        (theirs,) = session.run(None, {"x": data})
        ours = np.asarray(build(module)(data))
        wanted = data.astype(np.float64) @ exact.T
        errors[level] = [float(np.std(each - wanted) / np.std(wanted)) for each in (ours, theirs)]
    assert errors[0][0] < 1e-6
    assert errors[4][0] <= 1.05 * errors[4][1] < 0.02


def test_other_levels_are_refused() -> None:
    file = block_file(5, np.zeros((8, 1, 32), np.uint8), np.ones(8, np.float32), 1)
    with pytest.raises(RelayError, match="accuracy_level 5"):
        from_onnx(file)
