from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.compare import Row, cells, header, measure, problems, summary
from benchmarks.interleave import interleaved_medians
from benchmarks.models import Inputs, Network
from benchmarks.systems import Run, System, systems
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
    assert problems(row, "fast") == [
        "net, 1 thread(s): the outputs of relay_tune untuned differ by 1.0e-01"
    ]


def test_outputs_may_differ_as_bfloat16_does_where_ours_may_round_factors() -> None:
    row = rows_of([system("relay_tune untuned", 2.1), system("peer", 2.0)])
    assert problems(row, "relaxed") == []
    assert len(problems(row, "exact")) == len(problems(row, "fast")) == 1


def test_outputs_that_are_not_numbers_are_a_problem() -> None:
    row = rows_of([system("relay_tune untuned", np.nan), system("peer", 2.0)])
    assert len(problems(row, "fast")) == 1


def test_a_system_that_fails_is_named_and_the_others_go_on() -> None:
    broken = System("relay_tune untuned", "numpy", failing)
    row = rows_of([broken, system("peer", 2.0)])
    assert list(row.milliseconds) == ["peer"]
    assert problems(row, "fast") == ["net, 1 thread(s): relay_tune untuned failed: no native form."]


OURS_AND_PEERS = [
    system(name, 0)
    for name in ("relay_tune untuned", "relay_tune tuned", "onnxruntime", "openvino")
]


def row_of(network: str, *milliseconds: float) -> Row:
    names = [candidate.name for candidate in OURS_AND_PEERS]
    return Row(network, 2, dict(zip(names, milliseconds, strict=False)), {"openvino": 0.0}, {})


def test_ratio_is_that_of_the_tuned_build_even_where_it_is_slower() -> None:
    candidates = OURS_AND_PEERS[:3]
    assert cells(row_of("net", 1.0, 3.0, 2.0), candidates) == [
        "net", "2", "1", "3", "2", "1.50", "0.0e+00",
    ]  # fmt: skip
    assert header(candidates)[-2] == "tuned / onnxruntime"


def test_without_a_log_the_ratio_is_that_of_the_untuned_build() -> None:
    untuned = [OURS_AND_PEERS[0], OURS_AND_PEERS[2]]
    assert cells(row_of("net", 1.0, 3.0, 2.0), untuned)[-2] == "0.50"
    assert header(untuned)[-2] == "untuned / onnxruntime"


def test_summary_is_of_the_fastest_peer_of_each_network() -> None:
    rows = [row_of("a", 9.0, 1.0, 4.0, 2.0), row_of("b", 9.0, 2.0, 1.0, 4.0), row_of("c", 9.0)]
    assert summary(rows, OURS_AND_PEERS) == [
        "2 thread(s), 2 networks: geometric mean of the ratios to the fastest peer 1.00, "
        "worst 2.00 (b)"
    ]


def test_torch_is_a_peer_only_where_it_is_named() -> None:
    assert "torch.compile" not in [candidate.name for candidate in systems(None)]
