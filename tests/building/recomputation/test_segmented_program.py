"""Recurrences within a limit of memory: as many segments as it asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.building.recomputation.segmented_program import most_segments, within_limit
from relay_tune.errors import MemoryLimitError

STEPS = 24


def recurrent(steps: int = STEPS) -> rt.Module:
    """A recurrence of gated sums, of whose gates a backward sweep needs two for each state."""
    lines: list[str] = []
    state = "%h0"
    for n in range(1, steps + 1):
        rows = f"strided_slice(%p, begin=[{4 * n - 4}], end=[{4 * n}], axes=[0])"
        lines += [
            f"let %q{n} = add({rows}, nn.dense({state}, %r));",
            f"let %z{n} = sigmoid(strided_slice(%q{n}, begin=[0], end=[64], axes=[1]));",
            f"let %n{n} = tanh(strided_slice(%q{n}, begin=[64], end=[128], axes=[1]));",
            f"let %h{n} = add(multiply(%z{n}, {state}), multiply(subtract(1f, %z{n}), %n{n}));",
        ]
        state = f"%h{n}"
    return rt.parse(
        f"def @main(%x: Tensor[({4 * steps}, 64), float32], %w: Tensor[(128, 64), float32],\n"
        "          %r: Tensor[(128, 64), float32], %h0: Tensor[(4, 64), float32]) {\n"
        "let %p = nn.dense(%x, %w);\n" + "\n".join(lines) + f"\n{state}\n}}"
    )


def training_step(limit: int | None = None) -> rt.training.TrainingStep:
    generator = np.random.default_rng(0)
    sizes = {"w": (128, 64), "r": (128, 64), "h0": (4, 64)}
    values = {n: generator.standard_normal(size, np.float32) / 8 for n, size in sizes.items()}
    return rt.training.step(
        recurrent(), "mean_squared_error", parameters=values, threads=1, memory_limit=limit
    )


def test_a_limit_that_needs_segments_is_kept_and_losses_are_the_same() -> None:
    plain = training_step()
    limit = plain.memory_bytes * 2 // 3
    limited = training_step(limit)
    assert limited.memory_bytes <= limit
    assert limited.program.slices == 1
    random = np.random.default_rng(1)
    for _ in range(3):
        data = random.standard_normal((4 * STEPS, 64), np.float32)
        target = random.standard_normal((4, 64), np.float32)
        assert limited(data, target) == pytest.approx(plain(data, target), rel=1e-5)


def test_segments_have_two_steps_at_least() -> None:
    assert most_segments(rt.infer_types(recurrent(12))) == 6
    assert most_segments(rt.infer_types(rt.parse("def @main(%x: float32) { tanh(%x) }"))) == 1


def _error(limit: int, least: int) -> MemoryLimitError:
    error = MemoryLimitError(f"at least {least}", remedy="Give more.")
    error.limit, error.least = limit, least
    return error


def test_the_number_of_segments_follows_what_is_missing() -> None:
    tried: list[int] = []

    def compiled(count: int) -> Any:
        tried.append(count)
        raise _error(100, 1000 // count + 60)

    with pytest.raises(MemoryLimitError, match="at least 91"):
        within_limit(compiled, 32)
    assert tried == [1, 11, 22, 32]


def test_without_a_recurrence_the_first_error_is_raised() -> None:
    def compiled(count: int) -> Any:
        assert count == 1
        raise _error(100, 1000)

    with pytest.raises(MemoryLimitError, match="at least 1000"):
        within_limit(compiled, 1)
