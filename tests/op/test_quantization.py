"""qnn.quantize and qnn.dequantize, against onnxruntime and at the ends of their ranges."""

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.op.quantization import dequantize, quantize

DTYPES = ("int8", "uint8", "int16", "uint16")
ODD = [np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, 0.5, 1.5, -0.5, -2.5, 0.0, -0.0, 1e-42]


def _numbers(shape):
    values = np.random.default_rng(3).standard_normal(shape).astype("float32") * 90
    values.flat[: len(ODD)] = ODD
    return values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [None, 1, -1])
def test_quantize(check_record, run_onnx, dtype, axis):
    data, limits = _numbers((3, 5, 4)), np.iinfo(dtype)
    shape = () if axis is None else (data.shape[axis],)
    scale = np.asarray(np.random.default_rng(4).random(shape) + 0.5, "float32")
    zero = np.random.default_rng(5).integers(limits.min, limits.max, shape, endpoint=True)
    arrays = [data, scale, np.asarray(zero, dtype)]
    attributes = {"out_dtype": dtype} | ({} if axis is None else {"axis": axis})
    found = check_record(quantize, arrays, attributes)
    expected = run_onnx("QuantizeLinear", arrays, {"axis": 0 if axis is None else axis}, opset=21)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", (*DTYPES, "int32"))
@pytest.mark.parametrize("axis", [None, 0, 2])
def test_dequantize(check_record, run_onnx, dtype, axis):
    limits, random = np.iinfo(dtype), np.random.default_rng(6)
    data = random.integers(limits.min, limits.max, (3, 5, 4), dtype, endpoint=True)
    shape = () if axis is None else (data.shape[axis],)
    zero = 0 if dtype == "int32" else random.integers(limits.min, limits.max, shape, endpoint=True)
    scale = np.asarray(random.random(shape) + 0.5, "float32")
    arrays = [data, scale, np.full(shape, zero, dtype)]
    found = check_record(dequantize, arrays, {} if axis is None else {"axis": axis})
    expected = run_onnx("DequantizeLinear", arrays, {"axis": 0 if axis is None else axis}, opset=21)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "call",
    [
        'qnn.quantize(%x, 1f, 0i8, out_dtype="int32")',
        "qnn.quantize(%x, 1f, 0f)",
        "qnn.quantize(%x, %s, 0i8, axis=0)",
        "qnn.dequantize(%x, 1f, 0i8)",
    ],
)
def test_other_types_are_refused(call):
    text = f"def @main(%x: Tensor[(3, 5), float32], %s: Tensor[(5), float32]) {{ {call} }}"
    with pytest.raises(rt.RelayError):
        rt.infer_types(rt.parse(text))
