from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.compare import Row, cells, difference, measure, problems
from benchmarks.interleave import interleaved_medians
from benchmarks.models import Inputs, Network
from benchmarks.systems import Run, System
from relay_tune.errors import BuildError

MODEL = Network("net", Path("net.onnx"), {})


def system(name: str, value: float) -> System:
    def prepare(path: Path, inputs: Inputs, threads: int) -> Run:
        return lambda: [np.full(3, value)]

    return System(name, "numpy", prepare)


def failing(path: Path, inputs: Inputs, threads: int) -> Run:
    raise BuildError("no native form.")


def rows_of(candidates: Sequence[System]) -> Row:
    return measure(MODEL, 1, candidates, rounds=1, burst=1e-6)


def test_candidates_take_turns() -> None:
    calls: list[str] = []
    runs = {name: (lambda name=name: calls.append(name)) for name in ("a", "b")}
    interleaved_medians(runs, rounds=3, burst_seconds=1e-9)
    turns = [name for place, name in enumerate(calls) if place == 0 or calls[place - 1] != name]
    assert turns == ["a", "b"] * 3


def test_outputs_are_compared_with_the_first_peer() -> None:
    row = rows_of([system("relay_tune untuned", 2.2), system("peer", 2.0), system("other", 2.0)])
    assert row.errors == pytest.approx({"relay_tune untuned": 0.1, "peer": 0, "other": 0})
    assert problems(row) == [
        "net, 1 thread(s): the outputs of relay_tune untuned differ by 1.0e-01"
    ]


def test_outputs_that_are_not_numbers_are_a_problem() -> None:
    row = rows_of([system("relay_tune untuned", np.nan), system("peer", 2.0)])
    assert len(problems(row)) == 1


def test_a_system_that_fails_is_named_and_the_others_go_on() -> None:
    broken = System("relay_tune untuned", "numpy", failing)
    row = rows_of([broken, system("peer", 2.0)])
    assert list(row.milliseconds) == ["peer"]
    assert problems(row) == ["net, 1 thread(s): relay_tune untuned failed: no native form."]


def test_ratio_is_that_of_our_best_build() -> None:
    candidates = [system(name, 0) for name in ("relay_tune untuned", "relay_tune tuned", "peer")]
    times = {"relay_tune untuned": 3.0, "relay_tune tuned": 1.0, "peer": 2.0}
    row = Row("net", 2, times, {"peer": 0.0}, {})
    assert cells(row, candidates) == ["net", "2", "3", "1", "2", "0.50", "0.0e+00"]


def test_difference_is_relative_to_the_largest_output() -> None:
    assert difference([np.array([1.0, 5.5])], [np.array([1.0, 5.0])]) == pytest.approx(0.1)
