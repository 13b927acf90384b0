from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.op.nn.dropout import dropout


def _program(shape: tuple[int, ...], rate: float, dtype: str = "float32", seed: int = 7) -> str:
    return f"""def @main(%x: Tensor[{shape}, {dtype}]) {{
      nn.dropout(%x, rate={rate}f, training=True, seed={seed})
    }}"""


def test_inference_keeps_the_data(random_array):
    data = random_array((2, 3))
    program = "def @main(%x: Tensor[(2, 3), float32]) { nn.dropout(%x, rate=0.9f) }"
    np.testing.assert_array_equal(rt.build(rt.parse(program))(data), data)
    np.testing.assert_array_equal(dropout.reference(dropout.attributes(rate=0.9), data), data)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_native_training_is_the_reference(dtype):
    data = np.random.default_rng(0).standard_normal((5, 70)).astype(dtype)
    record = dropout.attributes(rate=0.25, training=True, seed=7)
    expected = dropout.reference(record, data)
    program = rt.parse(_program(data.shape, 0.25, dtype))
    for found in (rt.build(program)(data), rt.interpret(program, data)):
        np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == "float16" else 1e-6)


def test_a_share_of_the_elements_is_dropped_and_the_mean_stays():
    data = np.ones((300, 400), np.float32)
    found = rt.build(rt.parse(_program(data.shape, 0.3)))(data)
    assert set(np.unique(found)) == {np.float32(0), np.float32(1 / np.float32(0.7))}
    spread = np.sqrt(0.3 * 0.7 / data.size)
    assert abs(np.mean(found == 0) - 0.3) < 4 * spread
    other = rt.build(rt.parse(_program(data.shape, 0.3, seed=8)))(data)
    assert abs(np.corrcoef(found.ravel(), other.ravel())[0, 1]) < 4 / np.sqrt(data.size)


def test_all_can_be_dropped():
    data = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(rt.build(rt.parse(_program((2, 3), 1.0)))(data), 0 * data)


def test_files_keep_dropout_that_is_for_training():
    program = rt.infer_types(rt.parse(_program((4, 50), 0.5)))
    data = np.ones((4, 50), np.float32)
    again = rt.from_onnx(rt.to_onnx(program))
    np.testing.assert_array_equal(rt.interpret(again, data), rt.interpret(program, data))
