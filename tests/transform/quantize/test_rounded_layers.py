"""Layers whose data and weights are rounded to bfloat16."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnxruntime

from relay_tune.building.build import build
from relay_tune.frontend.onnx_export.to_onnx import to_onnx
from relay_tune.ir.expr import Constant
from relay_tune.ir.module import Module
from relay_tune.ir.printer.astext import astext
from relay_tune.ir.traversal import post_order
from relay_tune.quantization.calibrated import Means, calibrate
from relay_tune.quantization.loss import output_error
from relay_tune.quantization.precisions import BFLOAT16, INT8
from relay_tune.quantization.prepared import prepared
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.quantize.rounded_layers import with_rounded_layers
from relay_tune.typing.infer import infer_types
from tests.quantization.networks import IMAGES, bound, images

TWO = """
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {
  %0 = nn.relu(%x);
  %1 = nn.dense(%0, %w);
  add(%1, nn.relu(nn.dense(%0, %w)))
}"""


def weights_of(module: Module) -> list[Constant]:
    return [each for each in post_order(module.main.body) if isinstance(each, Constant)]


def test_what_layers_read_is_rounded_once() -> None:
    module = prepared(bound(TWO))
    (weight,) = weights_of(module)
    changed = with_rounded_layers(module, [weight])
    infer_types(changed)
    assert astext(changed).count('dtype="bfloat16"') == 1
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    data, narrow = (
        each.astype(ml_dtypes.bfloat16).astype(np.float32)
        for each in (np.maximum(x, 0), weight.data)
    )
    sums = data @ narrow.T
    np.testing.assert_allclose(interpret(changed, x), sums + np.maximum(sums, 0), rtol=1e-5)


def test_other_layers_stay() -> None:
    module = prepared(bound(IMAGES))
    assert with_rounded_layers(module, []) is module
    assert "bfloat16" not in astext(with_rounded_layers(module, [weights_of(bound(TWO))[0]]))


def test_their_loss_is_simulated() -> None:
    samples = [{"x": each} for each in images(8)]
    means = Means("uint8", "minmax", output_error, 1, (INT8, BFLOAT16))
    found = calibrate(prepared(bound(IMAGES)), means, samples, samples)
    *narrow, last = found.free
    chosen = {last: INT8, **dict.fromkeys(narrow, BFLOAT16)}
    simulated = found.loss(chosen)
    program = build(found.steps(chosen)["realize"], threads=1)
    built = np.mean(
        [
            output_error(want, [np.asarray(program(each["x"]))])
            for each, want in zip(samples, found.judge.expected, strict=True)
        ]
    )
    rounded, integers = (dict.fromkeys(found.free, each) for each in (BFLOAT16, INT8))
    assert 0 < found.loss(rounded) < found.loss(integers)
    np.testing.assert_allclose(simulated, built, rtol=0.1)


def test_other_systems_run_them() -> None:
    module = prepared(bound(IMAGES))
    changed = with_rounded_layers(module, weights_of(module))
    session = onnxruntime.InferenceSession(to_onnx(changed).SerializeToString())
    x = images(1)[0]
    (found,) = session.run(None, {"x": x})
    wanted = interpret(changed, x)
    np.testing.assert_allclose(found, wanted, atol=1e-2 * np.abs(wanted).max())
