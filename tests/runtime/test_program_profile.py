"""The times of the kernels of programs, with and without control flow."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.building.program_form import fused_module
from relay_tune.building.programs import compile_program
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.target import native_target
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.runtime.model import Model
from relay_tune.runtime.program_profile import kernel_seconds, program_profile
from relay_tune.runtime.program_trace import program_trace
from relay_tune.runtime.trace import Trace, TraceEvent
from relay_tune.typing.infer import infer_types

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
def loop() -> Model:
    model = rt.build(rt.parse(LOOP, source_name="loop.relay"), threads=2)
    assert isinstance(model, Model)
    return model


def test_a_profile_counts_the_calls(loop: Model) -> None:
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
    assert row.title.endswith(": exp (n, 8)")
    assert str(row).split()[-9:-2] == ["-"] * 7


NETWORK = """
def @main(%x: Tensor[(4, 64), float32], %w: Tensor[(64, 64), float32]) {
  let %y = nn.softmax(nn.dense(%x, %w));
  (nn.softmax(nn.dense(%y, %w)), %y)
}
"""


@pytest.fixture(scope="module")
def network() -> CompiledFunctions:
    target = native_target()
    module = fused_module(infer_types(rt.parse(NETWORK, source_name="m.relay")), target=target)
    return compile_program(module, target, 1, None, lambda line: None)


def test_a_network_has_a_row_for_each_step_in_the_order_in_which_they_run(
    network: CompiledFunctions,
) -> None:
    trace = program_trace(network, [X[:4].copy(), X], 1, 3)
    report = program_profile(network, trace, 1.0, LIMITS)
    names = [" ".join(row.title.split()[1:]) for row in report.rows]
    assert names == ["dense 4x64", "softmax 4x64", "dense 4x64", "softmax 4x64"]
    assert len({row.title for row in report.rows}) == 4
    assert [row.calls for row in report.rows] == [1] * 4
    assert report.rows[0].work.written == 4 * 2 * 64**2
    assert report.whole is None and "whole run" not in str(report)
    assert sum(row.share for row in report.rows) == pytest.approx(1.0)


def test_the_time_of_a_kernel_is_the_mean_of_its_steps(network: CompiledFunctions) -> None:
    first, _, second, _ = network.regions[0].steps
    assert first.digest == second.digest
    times = ((first.title, 0, 0, 1000), (second.title, 2, 1000, 4000))
    events = (TraceEvent(title, k, 0, 0, 1, 0, begin, end) for title, k, begin, end in times)
    assert kernel_seconds(network, Trace(tuple(events))) == {first.digest: 2e-6}
