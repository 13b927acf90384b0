from __future__ import annotations

import json

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.runtime.model import Model
from relay_tune.runtime.trace import EventBuffer, Trace, TraceEvent

TEXT = """
def @main(%x: Tensor[(512, 256), float32]) {
  let %y = nn.relu(nn.dense(%x, ones(shape=(256, 256), dtype="float32")));
  nn.softmax(nn.dense(%y, ones(shape=(128, 256), dtype="float32")))
}
"""


@pytest.fixture(scope="module")
def model() -> Model:
    built = rt.build(rt.parse(TEXT), threads=2)
    assert isinstance(built, Model)
    return built


@pytest.mark.parametrize("threads", [1, 2])
def test_every_share_of_every_kernel_is_there_once_in_each_run(model: Model, threads: int) -> None:
    x = np.ones((512, 256), np.float32)
    trace = model.trace(x, runs=3, threads=threads)
    kernels = {event.kernel for event in trace.events}
    assert kernels == set(range(len(kernels)))
    for run in range(3):
        for kernel in kernels:
            own = [each for each in trace.events if (each.run, each.kernel) == (run, kernel)]
            assert sorted(each.share for each in own) == list(range(own[0].shares))
    assert {event.thread for event in trace.events} <= set(range(threads))
    assert 0 in {event.thread for event in trace.events}


def test_events_of_a_thread_do_not_overlap_and_runs_follow_each_other(model: Model) -> None:
    trace = model.trace(np.ones((512, 256), np.float32), runs=3, threads=2)
    for thread in (0, 1):
        own = [event for event in trace.events if event.thread == thread]
        assert all(event.begin <= event.end for event in own)
        assert all(one.end <= other.begin for one, other in zip(own, own[1:], strict=False))
    assert trace.events[0].begin == 0
    assert [event.run for event in trace.events] == sorted(event.run for event in trace.events)


def test_a_kernel_begins_when_the_one_before_has_ended(model: Model) -> None:
    trace = model.trace(np.ones((512, 256), np.float32), runs=1, threads=2)
    last = max(event.end for event in trace.events if event.kernel == 0)
    assert all(event.begin >= last for event in trace.events if event.kernel == 1)


def test_the_answer_is_the_same_after_a_trace(model: Model) -> None:
    x = np.ones((512, 256), np.float32)
    before = model(x)
    model.trace(x, runs=1)
    np.testing.assert_array_equal(model(x), before)


def test_a_viewer_gets_rows_and_slices() -> None:
    events = (
        TraceEvent("dense 4x4", 0, 0, 0, 2, 0, 0, 4000),
        TraceEvent("dense 4x4", 0, 0, 1, 2, 1, 500, 5000),
    )
    told = json.loads(json.dumps(Trace(events).to_json()))["traceEvents"]
    names = {each["tid"]: each["args"]["name"] for each in told if each["name"] == "thread_name"}
    assert names == {0: "calling thread", 1: "worker 1"}
    run, first, second = (each for each in told if each["ph"] == "X")
    assert (run["name"], run["tid"], run["ts"], run["dur"]) == ("run 0", 0, 0.0, 5.0)
    assert (first["name"], first["ts"], first["dur"]) == ("dense 4x4", 0.0, 4.0)
    assert (second["tid"], second["ts"], second["dur"]) == (1, 0.5, 4.5)
    assert second["args"] == {"kernel": 0, "share": 1, "shares": 2}


def test_without_events_there_is_an_empty_trace() -> None:
    assert EventBuffer(4).trace(["a"]).events == ()


@pytest.mark.parametrize("runs", [0, -1, 1.5])
def test_a_strange_number_of_runs_is_refused(model: Model, runs: object) -> None:
    with pytest.raises(rt.InputError, match="runs is"):
        model.trace(np.ones((512, 256), np.float32), runs=runs)  # type: ignore[arg-type]
