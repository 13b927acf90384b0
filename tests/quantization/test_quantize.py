"""Networks from float to integers: what they give, what is reported, what is refused."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

import relay_tune as rt
from relay_tune.errors import InputError
from relay_tune.ir.expr import Constant
from relay_tune.ir.traversal import post_order
from relay_tune.quantization.loss import output_error
from tests.quantization.networks import IMAGES, bound, images

DENSE = """
def @main(%x: Tensor[(n, 6), float32], %w: Tensor[(4, 6), float32], %u: Tensor[(2, 4), float32]) {
  nn.dense(tanh(nn.dense(%x, %w)), %u)
}"""
DEAD = """
def @main(%x: Tensor[(1, 6), float32], %w: Tensor[(4, 6), float32], %u: Tensor[(2, 6), float32]) {
  (nn.dense(%x, %w), nn.dense(nn.relu(negative(%x)), %u))
}"""


SIZED = """
def @main(%x: Tensor[(n, 6), float32], %w: Tensor[(4, 6), float32], %u: Tensor[(2, 4), float32]) {
  %0 = nn.dense(%x, %w);
  %1 = 2i64 * take(shape_of(%x, dtype="int64"), 0i64);
  let %rows: Tensor[(2 * n, 2), float32] = dyn.reshape(%0, stack((%1, 2i64)));
  %2 = reshape(tanh(%rows), newshape=[-1, 4]);
  (nn.dense(%2, %u), argmax(%rows, axis=[1]))
}"""


def run_onnx(module: rt.Module, x: np.ndarray) -> np.ndarray:
    model = rt.to_onnx(module)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, {"x": x})[0]


@pytest.fixture(scope="module")
def quantized() -> tuple[rt.Module, rt.Module, rt.QuantizationReport]:
    module, report = bound(IMAGES), rt.QuantizationReport()
    return module, rt.quantize(module, calibration=images(), threads=1, details=report), report


def test_the_answer_is_near_that_of_float32(
    quantized: tuple[rt.Module, rt.Module, rt.QuantizationReport],
) -> None:
    module, result, report = quantized
    expected = [rt.interpret(module, x) for x in images()]
    found = [rt.interpret(result, x) for x in images()]
    errors = [output_error([one], [other]) for one, other in zip(expected, found, strict=True)]
    assert 0 < np.mean(errors) < 0.03
    assert abs(report.loss - np.mean(errors)) < 0.005


def test_other_runtimes_and_integers_agree(
    quantized: tuple[rt.Module, rt.Module, rt.QuantizationReport],
) -> None:
    _, result, _ = quantized
    model = rt.build(result, threads=1, pipeline="default{integers=always}")
    for x in images(4, seed=5):
        expected = run_onnx(result, x)
        step = 0.02 * np.abs(expected).max()
        np.testing.assert_allclose(model(x), expected, atol=step)
        np.testing.assert_allclose(rt.interpret(result, x), expected, atol=step)


def test_the_report_has_each_layer(
    quantized: tuple[rt.Module, rt.Module, rt.QuantizationReport],
) -> None:
    _, result, report = quantized
    assert [each.name for each in report.layers] == ["conv2d", "conv2d_2", "conv2d_3", "dense"]
    assert all(each.precision == "int8" and 0 < (each.loss or 0) < 0.1 for each in report.layers)
    assert set(report.losses) == {"minmax", "percentile", "entropy", "mse"}
    assert report.losses[report.method] == min(report.losses.values())
    assert "4 of 4 layers in int8" in str(report)
    assert report.steps["realize"] is result
    assert report.bytes_after < 0.5 * report.bytes_before
    nodes = post_order(result.main.body)
    assert all(
        n.data.dtype != np.float32 or n.data.ndim < 2 for n in nodes if isinstance(n, Constant)
    )


def test_layers_that_hurt_stay_in_float32(
    quantized: tuple[rt.Module, rt.Module, rt.QuantizationReport],
) -> None:
    most, report = 0.7 * quantized[2].losses["minmax"], rt.QuantizationReport()
    options = {"method": "minmax", "max_loss": most, "threads": 1, "details": report}
    rt.quantize(quantized[0], calibration=images(), **options)
    assert report.loss <= most
    left = [each for each in report.layers if each.precision == "float32"]
    assert 0 < len(left) < 4
    assert all("the loss would be above" in str(each.reason) for each in left)
    assert max(each.loss or 0 for each in left) == max(each.loss or 0 for each in report.layers)


def test_any_number_of_rows_and_a_loss_of_ones_own() -> None:
    module = bound(DENSE)
    data = np.random.default_rng(2).standard_normal((20, 6)).astype("float32")

    def loss(expected: list[np.ndarray], found: list[np.ndarray]) -> float:
        return float(np.abs(expected[0] - found[0]).max())

    report = rt.QuantizationReport()
    options = {"loss": loss, "method": "minmax", "threads": 1, "details": report}
    result = rt.quantize(module, calibration={"x": data[:16]}, **options)
    found, expected = rt.interpret(result, data), rt.interpret(module, data)
    assert np.abs(found - expected).max() < 0.1
    assert 0 < report.loss < 0.1
    assert any("1 sample" in note for note in report.notes)


def test_layers_around_a_noted_size_are_quantized() -> None:
    """A binding with the type of what a run tells is no control flow."""
    module = bound(SIZED)
    x = np.random.default_rng(1).normal(0, 1, (8, 5, 6)).astype(np.float32)
    result = rt.quantize(module, calibration={"x": x}, threads=1)
    nodes = post_order(result.main.body)
    types = [(n.data.ndim, n.data.dtype.name) for n in nodes if isinstance(n, Constant)]
    assert types.count((2, "int8")) == 2
    model = rt.build(result, threads=1, pipeline="default{integers=always}")
    for rows in (1, 7):
        given = x[0, :1].repeat(rows, 0)
        (found, chosen), (wanted, expected) = model(given), rt.interpret(module, given)
        assert output_error([wanted], [found]) < 0.05
        np.testing.assert_array_equal(chosen, expected)


def test_a_layer_whose_data_are_zero_stays_in_float32() -> None:
    module = bound(DEAD)
    report = rt.QuantizationReport()
    data = np.ones((9, 1, 6), "float32")
    rt.quantize(module, calibration=data, method="minmax", threads=1, details=report)
    assert [each.precision for each in report.layers] == ["int8", "float32"]
    assert "are 0 for all samples" in str(report.layers[1].reason)
    data = np.full((9, 1, 6), 1e-42, "float32")
    with pytest.raises(rt.RelayError, match="No layer") as raised:
        rt.quantize(module, calibration=data, threads=1)
    assert any("too near to 0 for all samples" in note for note in raised.value.notes)


@pytest.mark.parametrize("scheme, most", [("w8", 0.01), ("w4", 0.12), ("bf16", 0.005)])
def test_weights_alone(scheme: str, most: float) -> None:
    text = """
def @main(%x: Tensor[(1, 64), float32], %w: Tensor[(32, 64), float32], %u: Tensor[(4, 8), float32],
          %v: Tensor[(8, 32), float32]) {
  nn.dense(nn.dense(nn.relu(nn.dense(%x, %w)), %v), %u)
}"""
    module, report = bound(text), rt.QuantizationReport()
    data = np.random.default_rng(3).standard_normal((4, 64)).astype("float32")
    rt.quantize(module, scheme=scheme, calibration=data, threads=1, details=report)
    assert report.loss is not None and 0 < report.loss < most
    assert [each.precision == "float32" for each in report.layers] == [False, True, True]
    assert rt.quantize(module, scheme=scheme).main.type == module.main.type


def test_weights_of_seven_bits_lie_within_64(
    quantized: tuple[rt.Module, rt.Module, rt.QuantizationReport],
) -> None:
    module, whole, report = quantized
    narrow = rt.QuantizationReport()
    result = rt.quantize(module, calibration=images(), weight_bits=7, threads=1, details=narrow)
    most = {n: max(map(_largest, _stored_weights(m))) for n, m in ((7, result), (8, whole))}
    assert most == {7: 64, 8: 127}
    assert report.loss is not None and narrow.loss is not None
    assert 0 < narrow.loss < 3 * report.loss
    np.testing.assert_allclose(
        run_onnx(result, images()[0]), rt.interpret(result, images()[0]), atol=0.05
    )


def _stored_weights(module: rt.Module) -> list[np.ndarray]:
    nodes = post_order(module.main.body)
    found = [each.data for each in nodes if isinstance(each, Constant)]
    return [each for each in found if each.dtype == np.int8 and each.ndim > 1]


def _largest(weights: np.ndarray) -> int:
    return int(np.abs(weights.astype(int)).max())


def test_activations_beside_narrow_weights() -> None:
    module = bound("""
def @main(%x: Tensor[(1, 64), float32], %w: Tensor[(32, 64), float32]) { nn.dense(%x, %w) }""")
    for activations, told in (("auto", False), ("float32", False), ("int8", True)):
        result = rt.quantize(module, scheme="w4", activations=activations)
        assert ('activations="int8"' in result.astext()) == told


@pytest.mark.parametrize(
    "options, message",
    [
        ({"scheme": "int7"}, "no scheme 'int7'"),
        ({"method": "min_max"}, "no method 'min_max'"),
        ({"max_loss": 0}, "must be a finite number above 0"),
        ({"activations": "int4"}, "no type of activations 'int4'"),
        ({"max_loss": 1e-12}, "No layer of the network can be quantized"),
        ({"calibration": None}, "no calibration data"),
        ({"scheme": "w8", "max_loss": 0.1}, "no bound on the loss of 'w8'"),
        ({"scheme": "w8", "activations": "uint8"}, "no type of activations 'uint8'"),
        ({"scheme": "bf16", "activations": "int8"}, "no type of activations 'int8'"),
        ({"weight_bits": 6}, "Weights cannot have 6 bits"),
        ({"weight_bits": [7]}, r"Weights cannot have \[7\] bits"),
        ({"weight_bits": True}, "Weights cannot have True bits"),
        ({"scheme": "w8", "weight_bits": 7}, "The scheme 'w8' fixes how weights are stored"),
        ({"scheme": "w4"}, "No weights of the network can be stored as int4"),
        ({"loss": 3}, "loss must be a function"),
        ({"loss": lambda *_: None}, "The loss of a sample is None, but must be a number"),
        ({"details": {}}, "details must be a QuantizationReport"),
    ],
)
def test_options_that_cannot_be(options: dict[str, object], message: str) -> None:
    data = np.ones((1, 6), "float32")
    with pytest.raises(InputError, match=message):
        rt.quantize(
            bound(DENSE.replace("n,", "1,")),
            **{"calibration": data, "method": "minmax", "threads": 1, **options},
        )


ROWS_OF_A_TABLE = """
def @main(%i: Tensor[(2), int64], %t: Tensor[(6, 8), float32], %w: Tensor[(4, 8), float32]) {
  nn.dense(take(%t, %i, axis=0, mode="raise"), %w)
}"""


def test_a_sample_that_cannot_run_is_named() -> None:
    with pytest.raises(rt.RelayError, match="out of range") as raised:
        table = bound(ROWS_OF_A_TABLE, free=("i",))
        rt.quantize(table, calibration=np.array([0, 5, 1, 6]), method="minmax", threads=1)
    assert raised.value.where == "the calibration data, sample 1"


def test_a_table_alone_in_other_types_is_told_as_no_layer() -> None:
    report = rt.QuantizationReport(bytes_before=8, bytes_after=4)
    assert str(report).startswith("0 of 0 layers with weights in fewer bits\n")
