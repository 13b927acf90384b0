from __future__ import annotations

import pytest

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.target import native_target, parse_target
from relay_tune.runtime.machine_limits import (
    MachineLimits,
    arithmetic_text,
    measure_limits,
    reading_text,
)
from relay_tune.runtime.measure_inputs import MeasureInputs
from relay_tune.runtime.measurer import Measurer


def test_the_loops_run_here() -> None:
    with Measurer(native_target(), 1) as measurer:
        measurer.load(MeasureInputs((), (), ()))
        limits = measure_limits(measurer, native_target(), 1)
    assert 1e8 < limits.operations < 1e13
    assert 1e8 < limits.bytes < 1e13


@pytest.mark.parametrize("name", ["aarch64-linux-gnu:cortex-a72", "x86_64-linux-gnu:haswell"])
def test_the_loops_compile_elsewhere(name: str) -> None:
    target = parse_target(name)
    assert compile_text(arithmetic_text(target), target)
    assert compile_text(reading_text(target), target)


def test_what_takes_longer_is_the_limit() -> None:
    limits = MachineLimits(operations=100.0, bytes=10.0)
    assert limits.seconds(200, 10) == 2.0
    assert limits.seconds(200, 30) == 3.0


def test_disturbed_measurements_are_corrected_upwards() -> None:
    low, high = MachineLimits(50.0, 12.0), MachineLimits(100.0, 10.0)
    assert low.joined(high) == high.joined(low) == MachineLimits(100.0, 12.0)
