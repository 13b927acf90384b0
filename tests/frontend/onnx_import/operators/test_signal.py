"""Transforms of signals, and the grids and filters that are made from sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import relay_tune as rt
from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Check = Callable[..., None]
NodeModel = Callable[..., onnx.ModelProto]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("parts", "onesided"), [(1, 0), (1, 1), (2, 0)])
def test_spectra_of_frames(check_node: Check, parts: int, onesided: int) -> None:
    window = np.hanning(15).astype(np.float32)
    check_node(
        "STFT",
        floats(2, 53, parts),
        None,
        None,
        constants={1: np.array(7), 2: window},
        opset=17,
        onesided=onesided,
        against="onnxruntime",
        rtol=1e-3,
    )


def test_frames_without_a_window(check_node: Check) -> None:
    constants = {1: np.array(8), 3: np.array(16)}
    check_node("STFT", floats(1, 128, 1), None, None, constants=constants, opset=17, rtol=1e-3)


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({1: np.array(0), 3: np.array(16)}, "frame_step is 0"),
        ({1: np.array(8)}, "neither a window nor a frame_length"),
        ({1: np.array(8), 2: np.ones(5, np.float32), 3: np.array(6)}, "which is not the frame_len"),
    ],
)
def test_frames_that_are_none(
    check_node: Check, constants: dict[int, np.ndarray], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        check_node("STFT", floats(1, 128, 1), None, None, constants=constants, opset=17)


@pytest.mark.parametrize(
    ("bins", "length", "rate", "low", "high"),
    [(8, 16, 8192, 0.0, 4096.0), (40, 400, 16000, 20.0, 7600.0), (80, 64, 8000, 0.0, 4000.0)],
)
def test_mel_filters(bins: int, length: int, rate: int, low: float, high: float) -> None:
    values = {
        "bins": np.array(bins),
        "length": np.array(length),
        "rate": np.array(rate),
        "low": np.float32(low),
        "high": np.float32(high),
    }
    graph = helper.make_graph(
        [helper.make_node("MelWeightMatrix", list(values), ["y"])],
        "mel",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (expected,) = onnx.reference.ReferenceEvaluator(model).run(None, {})
    np.testing.assert_allclose(rt.interpret(from_onnx(model)), expected, atol=1e-6)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("sizes", [(3, 4), (2, 3, 5)])
@pytest.mark.parametrize("aligned", [0, 1])
def test_affine_grid(check_node: Check, batch: int, sizes: tuple[int, ...], aligned: int) -> None:
    count = len(sizes)
    size = np.array([batch, 1, *sizes])
    theta = floats(batch, count, count + 1)
    check_node("AffineGrid", theta, None, constants={1: size}, opset=20, align_corners=aligned)


def test_affine_grid_of_one_element_lies_in_the_middle(node_model: NodeModel) -> None:
    theta = floats(2, 2, 3)
    for aligned in (0, 1):
        model = node_model(
            "AffineGrid",
            [theta, None],
            constants={1: np.array([2, 1, 1, 1])},
            opset=20,
            align_corners=aligned,
        )
        np.testing.assert_array_equal(
            rt.interpret(from_onnx(model), theta)[:, 0, 0], theta[:, :, 2]
        )


def test_elements_of_an_open_axis_are_compressed() -> None:
    condition = onnx.numpy_helper.from_array(np.array([True, False, True]), "keep")
    graph = helper.make_graph(
        [helper.make_node("Compress", ["x", "keep"], ["y"], axis=1)],
        "compress",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [condition],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = floats(4, 3)
    np.testing.assert_array_equal(rt.build(from_onnx(model))(x), x[:, [0, 2]])


@pytest.mark.parametrize("size", [3, "n"])
@pytest.mark.parametrize("length", ["m", 5])
def test_a_condition_longer_than_its_axis_chooses_no_more(
    size: int | str, length: int | str
) -> None:
    graph = helper.make_graph(
        [helper.make_node("Compress", ["x", "keep"], ["y"], axis=0)],
        "compress",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [size, 2]),
            helper.make_tensor_value_info("keep", TensorProto.BOOL, [length]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["k", 2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x, keep = floats(3, 2), np.array([True, False, True, True, True])
    np.testing.assert_array_equal(rt.build(from_onnx(model), threads=1)(x, keep), x[[0, 2]])


@pytest.mark.parametrize("length", [8, 9])
def test_real_numbers_of_a_half_spectrum(node_model: NodeModel, length: int) -> None:
    signal = floats(2, length)
    spectrum = np.fft.rfft(signal, axis=1)
    parts = np.stack([spectrum.real, spectrum.imag], axis=2).astype(np.float32)
    constants = {1: np.array(length), 2: np.array(1)}
    model = node_model("DFT", [parts], constants=constants, opset=20, inverse=1, onesided=1)
    result = rt.build(from_onnx(model))(parts)
    np.testing.assert_allclose(result[..., 0], signal, atol=1e-5)


def test_writing_into_a_cache(node_model: NodeModel) -> None:
    cache, update = floats(2, 3, 6, 4), floats(2, 3, 2, 4) + 1
    first = np.array([5, 2])
    model = node_model("TensorScatter", [cache, update, first], opset=24, mode="circular")
    (wanted,) = onnx.reference.ReferenceEvaluator(model).run(
        None, {"x0": cache, "x1": update, "x2": first}
    )
    np.testing.assert_array_equal(rt.build(from_onnx(model))(cache, update, first), wanted)


@pytest.mark.parametrize("length", [1, 7, 10, 64])
@pytest.mark.parametrize("parts", [1, 2])
def test_numbers_of_a_whole_spectrum(node_model: NodeModel, length: int, parts: int) -> None:
    data = floats(3, length, parts) * 40
    model = node_model("DFT", [data], constants={2: np.array(1)}, opset=20, inverse=1)
    spectrum = data[..., 0].astype(np.complex128)
    wanted = np.fft.ifft(spectrum + 1j * data[..., 1] if parts == 2 else spectrum, axis=1)
    result = rt.build(from_onnx(model))(data)
    assert (result.dtype, result.shape) == (np.float32, (3, length, 2))
    np.testing.assert_allclose(result, np.stack([wanted.real, wanted.imag], axis=2), atol=2e-5)


def open_spectrum(length: str | int | None, **attributes: int) -> onnx.ModelProto:
    """DFT along axis 1 of x: (batch, bins, 2); `length` is a number, an input, or left out."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "bins", 2])]
    weights = [onnx.numpy_helper.from_array(np.array(1), "axis")]
    if isinstance(length, int):
        weights.append(onnx.numpy_helper.from_array(np.array(length), "length"))
    elif length:
        inputs.append(helper.make_tensor_value_info("length", TensorProto.INT64, []))
    node = helper.make_node("DFT", ["x", "length" if length else "", "axis"], ["y"], **attributes)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", inputs, [result], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def test_numbers_of_a_whole_spectrum_of_open_length() -> None:
    compiled = rt.build(from_onnx(open_spectrum(None, inverse=1)))
    for length in (1, 7, 10):
        data = floats(2, length, 2)
        wanted = np.fft.ifft(data[..., 0].astype(complex) + 1j * data[..., 1], axis=1)
        found = compiled(data)
        np.testing.assert_allclose(found, np.stack([wanted.real, wanted.imag], 2), atol=1e-6)


@pytest.mark.parametrize("length", [None, 9, 12, "input"])
def test_real_numbers_of_a_half_spectrum_of_open_length(length: int | str | None) -> None:
    compiled = rt.build(from_onnx(open_spectrum(length, inverse=1, onesided=1)))
    for bins, asked in ((2, 2), (5, 9), (6, 10), (7, 9), (4, 10)):
        data, feeds = floats(2, bins, 2), {}
        wanted_length = length if isinstance(length, int) else 2 * (bins - 1)
        if length == "input":
            wanted_length, feeds = asked, {"length": np.array(asked)}
        half = data[..., 0].astype(complex) + 1j * data[..., 1]
        (found,) = compiled.run(None, {"x": data, **feeds})
        wanted = np.fft.irfft(half, wanted_length, axis=1)
        assert found.shape == (2, wanted_length, 1)
        np.testing.assert_allclose(found[..., 0], wanted, atol=1e-6)


def spectrum_of(x: np.ndarray, **attributes: int) -> np.ndarray:
    """What DFT gives along axis 1, in numpy."""
    numbers = x[..., 0].astype(complex)
    numbers = numbers + 1j * x[..., 1] if x.shape[-1] == 2 else numbers
    if attributes.get("inverse") and attributes.get("onesided"):
        return np.fft.irfft(numbers, axis=1)[..., None]
    found = (np.fft.ifft if attributes.get("inverse") else np.fft.fft)(numbers, axis=1)
    found = found[:, : x.shape[1] // 2 + 1] if attributes.get("onesided") else found
    return np.stack([found.real, found.imag], axis=-1)


WAYS = [{}, {"inverse": 1}, {"onesided": 1}, {"inverse": 1, "onesided": 1}]


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("attributes", WAYS, ids=str)
@pytest.mark.parametrize("length", [None, 97, 256, 300, 1025, 9000])
def test_long_spectra_are_computed_in_two_steps(
    length: int | None, attributes: dict[str, int], parts: int
) -> None:
    """Of known length, with and without divisors, and of one that only a run knows."""
    if parts == 1 and attributes == WAYS[3]:
        pytest.skip("a half spectrum is complex")
    if length and attributes == WAYS[3]:
        length += 1  # as many numbers as twice the elements before the last one
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", length or "n", parts])
    node = helper.make_node("DFT", ["x"], ["y"], axis=1, **attributes)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    opsets = [helper.make_opsetid("", 17)]
    graph = helper.make_graph([node], "g", [x], [result])
    compiled = rt.build(from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=9)))
    for count in (2, 7, 36, 97, 600, 1024) if length is None else (length,):
        data = floats(2, count, parts)
        found, wanted = compiled(data), spectrum_of(data, **attributes)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, atol=3e-6 * np.abs(wanted).max())


def test_inverse_sums_of_more_numbers_than_float16_has_are_divided() -> None:
    """The quotients are numbers of float16, though their divisor is none."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT16, [1, 90_000, 2])
    node = helper.make_node("DFT", ["x"], ["y"], axis=1, inverse=1)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)
    opsets = [helper.make_opsetid("", 17)]
    graph = helper.make_graph([node], "g", [x], [result])
    compiled = rt.build(from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=9)))
    data = floats(1, 90_000, 2).astype(np.float16)
    wanted = spectrum_of(data.astype(np.float32), inverse=1)
    np.testing.assert_allclose(compiled(data), wanted, atol=5e-3 * np.abs(wanted).max())


@pytest.mark.parametrize("length", [9001, 2 * 4093, 16 * 65_537, 2**40, 2**61 - 1])
def test_lengths_whose_tables_would_be_too_large_are_refused(length: int) -> None:
    """At once, also where numbers would have to be tried for long to find their divisors."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 1])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    number = helper.make_tensor("n", TensorProto.INT64, [], [length])
    node = helper.make_node("DFT", ["x", "n"], ["y"], axis=1)
    graph = helper.make_graph([node], "g", [x], [result], [number])
    opsets = [helper.make_opsetid("", 17)]
    with pytest.raises(UnsupportedOperatorError, match="divisors near its root"):
        from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=9))


def test_frames_under_a_window_that_is_computed() -> None:
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "n", 1]),
        helper.make_tensor_value_info("window", TensorProto.FLOAT, [8]),
    ]
    step = onnx.numpy_helper.from_array(np.array(4), "step")
    nodes = [
        helper.make_node("Mul", ["window", "window"], ["square"]),
        helper.make_node("STFT", ["x", "step", "square"], ["y"]),
    ]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", inputs, [result], [step])
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    compiled, window = rt.build(from_onnx(model)), floats(8)
    for count in (8, 30):
        x = floats(2, count, 1)
        frames = [x[:, at : at + 8, 0] * window**2 for at in range(0, count - 7, 4)]
        wanted = np.fft.rfft(np.stack(frames, 1), axis=2)
        found = compiled(x, window)
        np.testing.assert_allclose(found, np.stack([wanted.real, wanted.imag], 3), atol=1e-5)
