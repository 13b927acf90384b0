"""Many steps in one native call: the bits of single steps, and no more memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import relay_tune as rt
from tests.training.network import batch, network, weights


def _step(threads: int = 1) -> rt.training.TrainingStep:
    optimiser = rt.training.Adam(rt.training.Cosine(0.05, steps=8))
    return rt.training.step(
        network(), "cross_entropy", optimiser, parameters=weights(), threads=threads, clip=1.0
    )


def _stacked(numbers: range) -> tuple[np.ndarray, np.ndarray]:
    inputs, targets = zip(*map(batch, numbers), strict=True)
    return np.stack(inputs), np.stack(targets)


def _require_same(found: rt.training.TrainingStep, expected: rt.training.TrainingStep) -> None:
    assert found.number == expected.number
    for name, value in {**expected.parameters, **expected.states}.items():
        np.testing.assert_array_equal({**found.parameters, **found.states}[name], value)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_steps_have_the_bits_of_single_ones(threads: int) -> None:
    many, single = _step(threads), _step()
    losses = [many.run_many(*_stacked(each)) for each in (range(5), range(5, 7), range(7, 8))]
    assert list(np.concatenate(losses)) == [single(*batch(number)) for number in range(8)]
    _require_same(many, single)


def test_parameters_keep_their_places_in_any_order() -> None:
    first = {"v": np.ones((5, 5), np.float32), "w": np.full((5, 5), 0.5, np.float32)}
    program = rt.parse("""
    def @main(%x: Tensor[(6, 5), float32], %w: Tensor[(5, 5), float32],
              %v: Tensor[(5, 5), float32]) {
      nn.dense(tanh(nn.dense(%x, %w)), %v)
    }""")
    many, single = (
        rt.training.step(program, "mean_squared_error", parameters=first, threads=1)
        for _ in range(2)
    )
    x = np.random.default_rng(0).standard_normal((2, 6, 5), np.float32)
    assert list(many.run_many(x, x)) == [single(each, each) for each in x]
    _require_same(many, single)


def test_an_order_chooses_samples() -> None:
    ordered, single = _step(), _step()
    x, target = (np.concatenate([*each]) for each in _stacked(range(4)))
    order = rt.training.shuffled(len(x), 6, range(3, 9), seed=1)
    losses = ordered.run_many(x, target=target, order=order)
    assert list(losses) == [single(x[rows], target[rows]) for rows in order]
    _require_same(ordered, single)


def test_an_order_is_a_function_of_the_numbers_of_steps() -> None:
    whole = rt.training.shuffled(20, 6, range(9), seed=3)
    np.testing.assert_array_equal(whole[4:], rt.training.shuffled(20, 6, range(4, 9), seed=3))
    assert all(len(set(whole[first : first + 3].ravel())) == 18 for first in (0, 3, 6))
    assert not np.array_equal(whole[:3], whole[3:6])
    assert not np.array_equal(whole, rt.training.shuffled(20, 6, range(9), seed=4))
    assert rt.training.shuffled(20, 6, range(0)).shape == (0, 6)
    with pytest.raises(rt.InputError, match="fewer than a batch"):
        rt.training.shuffled(5, 6, range(1))


PEAKS = """
import resource
import numpy as np
import relay_tune as rt
from tests.training.interrupted import interrupted_step
from tests.training.network import batch

step, (x, target) = interrupted_step(), batch(0)
for count in (1_000, 10_000):
    order = rt.training.shuffled(len(x), len(x), range(count))
    losses = step.run_many(x, target, order=order)
    assert losses.shape == (count,) and np.isfinite(losses).all()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_ten_thousand_steps_take_the_memory_of_a_thousand() -> None:
    command = [sys.executable, "-c", PEAKS]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    first, second = map(int, printed.split())
    assert second < 1.01 * first


def test_arrays_that_do_not_fit_change_nothing() -> None:
    step = _step()
    x, target = _stacked(range(3))
    flat = [each.reshape(-1, *each.shape[2:]) for each in (x, target)]
    order = rt.training.shuffled(18, 6, range(2))
    with pytest.raises(rt.InputError, match="No value was given for: target"):
        step.run_many(x)
    with pytest.raises(rt.InputError):
        step.run_many(x, target[:2])
    with pytest.raises(rt.InputError):
        step.run_many(*flat, order=order[:, :5])
    with pytest.raises(rt.RelayError):
        step.run_many(*flat, order=order + 18)
    with pytest.raises(rt.RelayError):
        step.run_many(x, np.full_like(target, 3))
    _require_same(step, _step())


def test_inputs_without_samples_have_no_order() -> None:
    program = rt.parse("""
    def @main(%x: Tensor[(4, 3), float32], %s: float32, %w: Tensor[(2, 3), float32]) {
      nn.dense(%x, %w) * %s
    }""")
    first = {"w": np.ones((2, 3), np.float32)}
    step = rt.training.step(program, "mean_squared_error", parameters=first, threads=1)
    x, target = np.ones((2, 4, 3), np.float32), np.zeros((2, 4, 2), np.float32)
    assert step.run_many(x, np.array([1, 2], np.float32), target)[0] == 9
    with pytest.raises(rt.InputError, match="no first axis of samples"):
        step.run_many(x, np.ones(2, np.float32), target, order=np.zeros((1, 4), np.int64))
