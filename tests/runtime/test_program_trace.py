"""When the kernels of programs run."""

from __future__ import annotations

import json

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.runtime import program_trace
from relay_tune.runtime.model import Model

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
X = np.ones((64, 64), np.float32)


@pytest.fixture(scope="module")
def loop() -> Model:
    model = rt.build(rt.parse(LOOP, source_name="loop.relay"), threads=2)
    assert isinstance(model, Model)
    return model


def test_every_call_of_a_kernel_is_in_the_timeline(loop: Model) -> None:
    trace = loop.trace(3, X, X, runs=2, threads=1)
    kernels = [event for event in trace.events if event.run == 1]
    for number in {event.kernel for event in kernels if event.title == DENSE}:
        assert [event.kernel for event in kernels].count(number) == 3
    assert [event.title for event in kernels].count("loop.relay:7:7: tanh 64x64") == 1
    assert {event.title for event in kernels} == {DENSE, "loop.relay:7:7: tanh 64x64"}
    assert all(event.begin <= event.end for event in trace.events)
    assert json.loads(json.dumps(trace.to_json()))["traceEvents"]


def test_there_is_room_for_any_number_of_calls(
    loop: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_trace, "FIRST_CAPACITY", 3)
    trace = loop.trace(9, X, X, runs=1, threads=1)
    titles = [(event.title, event.kernel) for event in trace.events]
    assert {titles.count(each) for each in titles if each[0] == DENSE} == {9}


def test_each_step_of_a_region_has_events_of_its_own() -> None:
    text = """
    def @main(%b: bool, %x: Tensor[(4, 64), float32], %w: Tensor[(64, 64), float32]) {
      if (%b) { nn.softmax(nn.dense(nn.softmax(nn.dense(%x, %w)), %w)) } else { nn.softmax(%x) }
    }
    """
    model = rt.build(rt.parse(text, source_name="m.relay"), threads=1)
    assert isinstance(model, Model)
    places = ((48, "dense"), (37, "softmax"), (28, "dense"), (17, "softmax"))
    steps = [f"m.relay:3:{column}: {operator} 4x64" for column, operator in places]
    trace = model.trace(True, X[:4].copy(), X, runs=2)
    assert list(dict.fromkeys(event.title for event in trace.events if event.run == 1)) == steps
    other = model.trace(False, X[:4].copy(), X, runs=1)
    assert {event.title for event in other.events}.isdisjoint(steps)
