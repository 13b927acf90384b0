"""Dropout in training: other elements in each step, the same ones for the same seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import relay_tune as rt
from relay_tune.op import reduction
from tests.training.network import with_constants

WIDTH = 400
NETWORK = f"""
def @main(%x: Tensor[(8, {WIDTH}), float32], %w: Tensor[({WIDTH}), float32]) {{
  nn.dropout(nn.dropout(%x, rate=0.5f) * %w, rate=0.2f)
}}"""


def _step(seed: int | None, threads: int = 1) -> rt.training.TrainingStep:
    """Its loss is the sum of what is kept, and w loses its gradient."""
    return rt.training.step(
        rt.parse(NETWORK),
        lambda output, target: reduction.sum(output * target),
        rt.training.SGD(1.0),
        parameters={"w": np.ones(WIDTH, np.float32)},
        seed=seed,
        threads=threads,
    )


def _batch() -> tuple[np.ndarray, np.ndarray]:
    ones = np.ones((8, WIDTH), np.float32)
    return ones, ones


def _changes(step: rt.training.TrainingStep, count: int) -> np.ndarray:
    """What the gradient of w was in each step."""
    found = []
    for _ in range(count):
        before = np.array(step.parameters["w"])
        step(*_batch())
        found.append(before - step.parameters["w"])
    return np.array(found)


def test_each_step_drops_other_elements() -> None:
    changes = _changes(_step(seed=1), 3)
    kept = changes / (1 / 0.5 / 0.8)  # how many of the 8 elements of a column both layers kept
    np.testing.assert_allclose(kept, np.round(kept), atol=1e-3)
    spread = np.sqrt(0.4 * 0.6 / (8 * WIDTH))
    assert np.all(np.abs(kept.mean(1) / 8 - 0.4) < 4 * spread)
    for first, second in ((0, 1), (1, 2), (0, 2)):
        assert abs(np.corrcoef(changes[first], changes[second])[0, 1]) < 4 / np.sqrt(WIDTH)


def test_a_seed_gives_the_same_bits_on_any_number_of_threads(tmp_path: Path) -> None:
    one, two, many, other = (_step(1), _step(1, threads=2), _step(1), _step(2))
    losses = [one(*_batch()) for _ in range(4)]
    assert [two(*_batch()) for _ in range(4)] == losses
    assert list(many.run_many(*(np.stack([each] * 4) for each in _batch()))) == losses
    assert [other(*_batch()) for _ in range(4)] != losses
    one.save(tmp_path / "step.safetensors")
    again = _step(1)
    again.load(tmp_path / "step.safetensors")
    assert again(*_batch()) == one(*_batch())


def test_dropout_is_for_training_alone() -> None:
    x, ones = _batch()
    step, without = _step(seed=1), _step(seed=None)
    assert without(x, ones) == 8 * WIDTH
    step(x, ones)
    expected = x * step.parameters["w"]
    np.testing.assert_array_equal(rt.build(step.trained())(x), expected)


def test_dropout_of_a_file_for_training_differs_from_step_to_step() -> None:
    step = rt.training.step(
        rt.from_onnx(_file()), "mean_squared_error", rt.training.SGD(0.0), threads=1
    )
    x = np.ones((2, 200), np.float32)
    losses = [step(x, np.zeros_like(x)) for _ in range(3)]
    assert len(set(losses)) == 3 and all(1 < loss < 3 for loss in losses)
    np.testing.assert_array_equal(rt.build(step.trained())(x), x)


def _file() -> bytes:
    """y = dropout(x w) with training_mode, as exporters write it."""
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["x", "w"], ["product"]),
            helper.make_node("Dropout", ["product", "ratio", "training"], ["y"], name="drop"),
        ],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 200])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 200])],
        [
            helper.make_tensor("w", TensorProto.FLOAT, [200], [1.0] * 200),
            helper.make_tensor("ratio", TensorProto.FLOAT, [], [0.5]),
            helper.make_tensor("training", TensorProto.BOOL, [], [True]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return onnx.ModelProto.SerializeToString(model)


def test_a_seed_of_nothing_is_refused() -> None:
    plain = rt.parse("def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3), float32]) { %x * %w }")
    with pytest.raises(rt.InputError, match="draws no random numbers"):
        rt.training.step(
            plain, "mean_squared_error", parameters={"w": np.ones(3, np.float32)}, seed=1
        )


def test_a_seed_is_a_whole_number() -> None:
    with pytest.raises(rt.InputError, match="seed is 'a', but must be a whole number"):
        rt.training.step(with_constants(), "cross_entropy", seed="a")  # type: ignore[arg-type]
