from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.roofline import Offender, main, table
from benchmarks.roofline_causes import Setting, causes, weight_bytes
from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.runtime.machine_limits import Bound
from relay_tune.runtime.profile import ProfileRow
from relay_tune.schedule.plan import plan_program
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import SERVER


def row(seconds: float, least: float, title: str = "conv2d") -> ProfileRow:
    return ProfileRow(title, title, seconds, KernelWork(10, 10, 10), Bound(least, "compute"), 0.1)


def test_the_worst_come_first() -> None:
    near = Offender("net", (row(4.0, 3.0, "near"),), "")
    far = Offender("net", (row(2.0, 0.5, "far"), row(2.0, 0.5, "far")), "")
    lines = table([near, far]).splitlines()
    assert "| far | 2 |" in lines[2] and "| 25% |" in lines[2]
    assert "| near | 1 |" in lines[3]


def test_weights_that_come_slowly_are_a_cause() -> None:
    plan = plan_program(convolution_program((1, 8, 8, 32, 32)))
    schedule = plan.default_schedule(SERVER, 1)
    chosen = plan.with_algorithm(schedule.algorithm)
    assert weight_bytes(plan) == 4 * 9 * 32 * 32
    slow = Setting(SERVER, 1, weight_rate=weight_bytes(chosen) * 2.0)
    assert "weights take 50% of the time" in causes(chosen, schedule, row(1.0, 0.5), slow)
    quick = replace(slow, weight_rate=1e12)
    assert "weights" not in causes(chosen, schedule, row(1.0, 0.5), quick)


def test_waste_at_edges_and_one_thread_are_causes() -> None:
    plan = plan_program(convolution_program((1, 8, 8, 32, 33)))
    schedule = plan.default_under_algorithm(SERVER, 1)[1]
    (choice,) = schedule.choices
    wide = replace(choice, vector=2, lanes=16, tile=(1, 4, 33), parallel=0)
    setting = Setting(SERVER, 2, weight_rate=1e12)
    found = causes(plan, replace(schedule, choices=(wide,)), row(1.0, 0.5), setting)
    assert "runs on one thread" in found
    assert "edge tiles" in found


@pytest.mark.parametrize("name", ["mlp"])
def test_a_network_is_listed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([name, "--threads", "1", "--below", "2"])
    printed = capsys.readouterr().out
    assert printed.startswith("limits: float32")
    assert "| mlp | dense" in printed
