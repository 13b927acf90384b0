"""Where the time of a program with control flow goes: timelines and profiles of its kernels."""

from __future__ import annotations

import json

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.runtime import program_trace
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.runtime.program_model import ProgramModel

LOOP = """
def @main(%n: int32, %x: Tensor[(64, 64), float32], %w: Tensor[(64, 64), float32]) {
  let %loop = fn (%i: int32, %h: Tensor[(64, 64), float32]) -> Tensor[(64, 64), float32] {
    if (greater(%i, 0)) {
      %loop(subtract(%i, 1), nn.relu(nn.dense(%h, %w)))
    } else {
      tanh(%h)
    }
  };
  %loop(%n, %x)
}
"""
DENSE = "loop.relay:5:38: dense+relu 64x64"
LIMITS = MachineLimits(
    1, {"float32": 1e13}, (CacheLimit(65536.0, 4e13), CacheLimit(1e6, 2e13)), 2e12
)
X = np.ones((64, 64), np.float32)


@pytest.fixture(scope="module")
def loop() -> ProgramModel:
    model = rt.build(rt.parse(LOOP, source_name="loop.relay"), threads=2)
    assert isinstance(model, ProgramModel)
    return model


def test_every_call_of_a_kernel_is_in_the_timeline(loop: ProgramModel) -> None:
    trace = loop.trace(3, X, X, runs=2, threads=1)
    kernels = [event for event in trace.events if event.run == 1]
    for number in {event.kernel for event in kernels if event.title == DENSE}:
        assert [event.kernel for event in kernels].count(number) == 3
    assert [event.title for event in kernels].count("loop.relay:7:7: tanh 64x64") == 1
    assert {event.title for event in kernels} == {DENSE, "loop.relay:7:7: tanh 64x64"}
    assert all(event.begin <= event.end for event in trace.events)
    assert json.loads(json.dumps(trace.to_json()))["traceEvents"]


def test_there_is_room_for_any_number_of_calls(
    loop: ProgramModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_trace, "FIRST_CAPACITY", 3)
    trace = loop.trace(9, X, X, runs=1, threads=1)
    titles = [(event.title, event.kernel) for event in trace.events]
    assert {titles.count(each) for each in titles if each[0] == DENSE} == {9}


def test_a_profile_counts_the_calls(loop: ProgramModel) -> None:
    report = loop.profile(4, X, X, threads=1, limits=LIMITS)
    dense, tanh = report.rows
    assert (dense.calls, tanh.calls) == (4, 1)
    assert dense.work.written == 4 * (2 * 64**3 + 64**2)
    assert dense.nodes == ("loop.relay:5:38", "loop.relay:5:30")
    assert 0 < dense.limit_share < 1
    assert report.whole is not None
    assert report.seconds > 0
    assert f"4 x {DENSE}" in str(report)
    assert "whole run" in str(report)


def test_work_of_dynamic_sizes_is_not_known() -> None:
    text = (
        "def @main(%b: bool, %x: Tensor[(n, 8), float32]) { if (%b) { exp(%x) } else { tanh(%x) } }"
    )
    model = rt.build(rt.parse(text), threads=1)
    (row,) = model.profile(True, X[:5, :8].copy(), limits=LIMITS).rows
    assert not row.is_known
    assert row.seconds > 0
    assert str(row).split()[1:8] == ["-"] * 7
