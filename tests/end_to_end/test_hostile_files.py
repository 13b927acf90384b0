"""Hostile and damaged files build and run, or give one clear error; nothing else ever happens."""

from __future__ import annotations

import pytest

from benchmarks.fuzz_files import damaged
from benchmarks.fuzzing.file_outcome import outcome
from benchmarks.fuzzing.hostile import hostile_models

HOSTILE = hostile_models()
TOO_LARGE = ("input", "outer product", "broadcast", "doubling concatenations", "pad", "resize")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_models(name: str) -> None:
    assert not outcome(HOSTILE[name].SerializeToString()).startswith("wrong")


@pytest.mark.parametrize("name", TOO_LARGE)
def test_the_memory_that_is_needed_is_stated(name: str) -> None:
    found = outcome(HOSTILE[name].SerializeToString())
    assert found.startswith("refused: The program needs ")
    assert "of memory; this machine has" in found


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_damaged_files(first: int) -> None:
    outcomes = {seed: outcome(damaged(seed)) for seed in range(first, first + 10)}
    assert {seed: o for seed, o in outcomes.items() if o.startswith("wrong")} == {}
