"""What a run claims about a whole network."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import pytest

from relay_tune.cli.run_report import report_text
from relay_tune.tuning.network_times import NetworkTimes
from relay_tune.tuning.result import TuningResult
from relay_tune.tuning.task_result import TaskResult

TASK = TaskResult("dense 4x8", "abc", 2, 3, 2e-3, 1e-3, 5e-4, 1000)
TABLE = [
    "share   untuned  tuned  of limit  candidates  kernel",
    "100.0%  2 ms     1 ms   50%       3           2 x dense 4x8",
]


def said(
    network: NetworkTimes | None,
    *,
    as_json: bool = False,
    shape: tuple[tuple[str, tuple[int | range, ...]], ...] = (),
    tasks: tuple[TaskResult, ...] = (TASK,),
) -> str:
    arguments = argparse.Namespace(json=as_json, model="m.onnx", log="tuning.db", shape=shape)
    result = TuningResult(tasks, measured=3, seconds=65.0, network=network)
    return report_text(arguments, result, "m.so")


@pytest.mark.parametrize(
    ("network", "claim"),
    [
        (
            NetworkTimes(4e-3, 2e-3, 1.98, (1.9, 2.1)),
            "the whole network, timed in turns: untuned 4 ms, tuned 2 ms, "
            "1.98 times as fast (1.90 to 2.10)",
        ),
        (
            NetworkTimes(4e-3, 3e-3, 1.24, (0.97, 1.3)),
            "the whole network, timed in turns: untuned 4 ms, tuned 3 ms, "
            "no gain that can be told (0.97 to 1.30 times as fast)",
        ),
        (
            NetworkTimes(4e-3, 4e-3, 1.0),
            "the whole network: 4 ms, its default schedules stay",
        ),
    ],
)
def test_a_gain_is_claimed_of_a_network_whose_turns_show_one(
    network: NetworkTimes, claim: str
) -> None:
    lines = said(network).splitlines()
    assert lines == [
        *TABLE,
        "measured 3 candidates in 1:05 minutes",
        "the kernels by themselves: untuned 4 ms, tuned 2 ms",
        claim,
        "m.so, m.h",
    ]


def test_networks_of_dynamic_sizes_are_timed_at_each() -> None:
    times = NetworkTimes(4e-3, 2e-3, 1.98, (1.9, 2.1))
    text = said(times, shape=(("x", (range(1, 9), 16)),))
    assert "the whole network, once at each size, timed in turns: untuned 4 ms" in text


def test_kernels_by_themselves_claim_no_gain() -> None:
    assert "times as fast" not in said(None)


@pytest.mark.parametrize(
    ("missing", "why"),
    [
        (
            replace(TASK, trials=0, default_seconds=None, best_seconds=None),
            "the budget ended before their turn, allow more --minutes or --trials",
        ),
        (
            replace(TASK, default_seconds=None, best_seconds=None),
            "the log says what became of their candidates",
        ),
    ],
)
def test_it_says_why_kernels_have_no_time(missing: TaskResult, why: str) -> None:
    assert (
        "1 of 2 kernels by themselves: untuned 4 ms, tuned 2 ms; "
        f"the others were not timed: {why}" in said(None, tasks=(TASK, missing)).splitlines()
    )
    unknown = replace(TASK, digest="def", default_seconds=None)
    assert "0 of 2 kernels by themselves: none has a time with its default schedule" in said(
        None, tasks=(unknown, missing)
    )


def test_json_has_the_same() -> None:
    found = json.loads(said(NetworkTimes(4e-3, 2e-3, 1.98, (1.9, 2.1)), as_json=True))
    assert found["network"] == {
        "untuned": 4e-3,
        "tuned": 2e-3,
        "ratio": 1.98,
        "interval": [1.9, 2.1],
    }
    assert (found["untuned_seconds"], found["tuned_seconds"]) == (4e-3, 2e-3)
    assert found["tasks"][0]["title"] == "dense 4x8" and found["reason"] is None
