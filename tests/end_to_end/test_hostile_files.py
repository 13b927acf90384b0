"""Hostile and damaged files build and run, or give one clear error; nothing else ever happens."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.fuzz_files import damaged
from benchmarks.fuzzing.file_outcome import outcome
from benchmarks.fuzzing.hostile import hostile_models
from relay_tune.frontend.onnx_import import graph

pytestmark = pytest.mark.builds_apart

HOSTILE = hostile_models()
TOO_LARGE = ("input", "outer product", "broadcast", "doubling concatenations", "pad", "resize")


@pytest.fixture(autouse=True)
def _fewer_nodes_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that expand without end reach the limit sooner."""
    monkeypatch.setattr(graph, "MAXIMUM_EXPANDED_NODES", 10_000)


@cache
def outcome_of(name: str) -> str:
    """What becomes of a hostile model, found once for all the tests that ask."""
    return outcome(HOSTILE[name].SerializeToString())


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_models(name: str) -> None:
    assert not outcome_of(name).startswith("wrong")


@pytest.mark.parametrize("name", TOO_LARGE)
def test_the_memory_that_is_needed_is_stated(name: str) -> None:
    found = outcome_of(name)
    assert found.startswith("refused: The program needs ")
    assert "of memory; this machine has" in found


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_damaged_files(first: int) -> None:
    outcomes = {seed: outcome(damaged(seed)) for seed in range(first, first + 10)}
    assert {seed: o for seed, o in outcomes.items() if o.startswith("wrong")} == {}
