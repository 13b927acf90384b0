"""Batch normalisation in training: by the batch, with moving statistics for inference."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.transform.bind_parameters import BindParameters

TEXT = """
def @main(%x: Tensor[(6, 4, 5), float32], %gamma: Tensor[(4), float32],
          %beta: Tensor[(4), float32], %mean: Tensor[(4), float32],
          %variance: Tensor[(4), float32], %w: Tensor[(3, 20), float32]) {
  %0 = nn.batch_norm(%x, %gamma, %beta, %mean, %variance, MODE momentum=0.7);
  nn.dense(nn.batch_flatten(%0.0), %w)
}"""
TRAINING, INFERENCE = "training=True,", ""
STEPS = 3


def _values() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {
        "gamma": np.array([1, 2, 0.5, -1], np.float32),
        "beta": np.array([0, 1, 2, 3], np.float32),
        "mean": np.array([0.5, 0, 0, -1], np.float32),
        "variance": np.array([1, 2, 3, 4], np.float32),
        "w": generator.standard_normal((3, 20), np.float32),
    }


def _network(mode: str) -> rt.Module:
    return rt.infer_types(BindParameters(_values())(rt.parse(TEXT.replace("MODE", mode))))


def _batch(number: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(10 + number)
    x = generator.normal(2, 3, (6, 4, 5)).astype(np.float32)
    return x, generator.standard_normal((6, 3)).astype(np.float32)


def _step(mode: str, **options: bool) -> rt.training.TrainingStep:
    return rt.training.step(
        _network(mode), "mean_squared_error", rt.training.SGD(0.01), threads=1, **options
    )


def _output(step: rt.training.TrainingStep, x: np.ndarray, statistics: object) -> np.ndarray:
    """What the network returns under these statistics."""
    gamma, beta, w = step.parameters.values()
    mean, variance = statistics
    columns = (each.reshape(4, 1) for each in (mean, np.sqrt(variance + 1e-5), gamma, beta))
    average, deviation, scale, shift = columns
    return ((x - average) / deviation * scale + shift).reshape(6, 20) @ w.T


@pytest.mark.parametrize("mode, by_batch", [(TRAINING, False), (INFERENCE, True)])
def test_statistics_move_towards_those_of_batches(mode: str, by_batch: bool) -> None:
    step = _step(mode, batch_statistics=by_batch)
    mean, variance = _values()["mean"], _values()["variance"]
    for number in range(STEPS):
        x, target = _batch(number)
        found = _output(step, x, (x.mean((0, 2)), x.var((0, 2))))
        assert step(x, target) == pytest.approx(np.square(found - target).mean(), rel=1e-4)
        mean = 0.7 * mean + 0.3 * x.mean((0, 2))
        variance = 0.7 * variance + 0.3 * x.var((0, 2), ddof=1)
    assert len(step.parameters) == 3
    for each, expected in zip(step.statistics.values(), (mean, variance), strict=True):
        np.testing.assert_allclose(each, expected, rtol=1e-5, atol=1e-6)
    x, _ = _batch(9)
    for trained in (step.trained(), rt.from_onnx(rt.to_onnx(step.trained()))):
        found = rt.interpret(trained, x)
        np.testing.assert_allclose(found, _output(step, x, (mean, variance)), rtol=1e-4, atol=1e-4)


def test_statistics_of_inference_are_no_parameters() -> None:
    step = _step(INFERENCE)
    x, target = _batch(0)
    found = _output(step, x, (_values()["mean"], _values()["variance"]))
    assert step(x, target) == pytest.approx(np.square(found - target).mean(), rel=1e-4)
    assert len(step.parameters) == 3 and not step.statistics


def test_statistics_that_are_inputs_move() -> None:
    values = _values()
    network = rt.parse(TEXT.replace("MODE", TRAINING))
    step = rt.training.step(network, "mean_squared_error", parameters=values, threads=1)
    step(*_batch(0))
    assert list(step.parameters) == ["gamma", "beta", "w"]
    x, _ = _batch(0)
    np.testing.assert_allclose(
        step.statistics["mean"], 0.7 * values["mean"] + 0.3 * x.mean((0, 2)), rtol=1e-5
    )


def test_many_steps_and_checkpoints_have_statistics(tmp_path) -> None:
    many, single, other = (_step(TRAINING) for _ in range(3))
    batches = [np.stack(each) for each in zip(*map(_batch, range(STEPS)), strict=True)]
    assert list(many.run_many(*batches)) == [single(*_batch(n)) for n in range(STEPS)]
    many.save(tmp_path / "step.safetensors")
    other.load(tmp_path / "step.safetensors")
    for name, value in single.statistics.items():
        np.testing.assert_array_equal(many.statistics[name], value)
        np.testing.assert_array_equal(other.statistics[name], value)


def test_a_network_without_normalisations_has_no_statistics_of_batches() -> None:
    plain = rt.parse("""
    def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
      nn.dense(%x, %w)
    }""")
    first = {"w": np.ones((4, 3), np.float32)}
    with pytest.raises(rt.InputError, match="no batch normalisation"):
        rt.training.step(plain, parameters=first, batch_statistics=True)


def test_a_statistic_that_is_another_weight_is_refused() -> None:
    values = _values()
    del values["beta"]
    shared = TEXT.replace("MODE", TRAINING).replace("%beta: Tensor[(4), float32],", "")
    network = rt.parse(shared.replace("%gamma, %beta, %mean", "%gamma, %mean, %mean"))
    with pytest.raises(rt.InputError, match="also another weight"):
        rt.training.step(rt.infer_types(BindParameters(values)(network)), "mean_squared_error")
