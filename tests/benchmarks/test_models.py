from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from benchmarks.models import network, recurrent_model
from relay_tune import zoo
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.zoo.recurrent import SMALL


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_recurrent_operator_computes_what_the_zoo_writes_out(kind: str) -> None:
    module = zoo.build(kind, seed=3, small=True)
    inputs = zoo.example_inputs(module)
    expected = interpret(module, **inputs)
    model = recurrent_model(kind, SMALL, seed=3)
    onnx.checker.check_model(model, full_check=True)
    (actual,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(interpret(from_onnx(model), **inputs), expected, atol=1e-5)


def test_network_of_the_zoo_becomes_a_file_with_inputs(tmp_path: Path) -> None:
    written = network("mlp", tmp_path)
    assert written.path == tmp_path / "mlp.onnx"
    read = network(str(written.path), tmp_path)
    assert read.name == "mlp"
    assert {name: array.shape for name, array in read.inputs.items()} == {"data": (1, 784)}
    result = onnxruntime.InferenceSession(read.path).run(None, dict(read.inputs))
    assert result[0].shape == (1, 10)
