from __future__ import annotations

import pytest

from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.codegen.program_step import ProgramStep
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.runtime.profile import profile_report

LIMITS = MachineLimits(
    1, {"float32": 1e9, "int8": 4e9}, (CacheLimit(1e3, 1e9), CacheLimit(1e6, 1e8)), 1e7
)


def step(title: str, work: KernelWork) -> ProgramStep:
    return ProgramStep(title, title, (), work)


def test_each_row_names_the_limit_that_binds_and_its_share() -> None:
    steps = [
        step("matmul", KernelWork(1000, {"float32": 1000}, 100)),
        step("winograd", KernelWork(4000, {"float32": 1000}, 100)),
        step("bytes", KernelWork(1000, {"int8": 1000}, 100)),
        step("copy", KernelWork(10, {"float32": 10}, 100_000)),
    ]
    report = profile_report(steps, [[2e-6, 9.0, 1e-6], [2e-6], [1e-6], [2e-3]], LIMITS)
    names = [row.bound.name for row in report.rows]
    assert names == ["compute", "compute", "compute", "L2"]
    shares = [row.limit_share for row in report.rows]
    assert shares == pytest.approx([0.5, 0.5, 0.25, 0.5])
    assert report.rows[1].gflops == pytest.approx(2.0)
    assert report.rows[3].gigabytes_per_second == pytest.approx(0.05)
    assert sum(row.share for row in report.rows) == pytest.approx(1.0)


def test_the_table_has_a_line_for_each_primitive_and_the_limits() -> None:
    report = profile_report(
        [step("matmul", KernelWork(1000, {"float32": 1000}, 100))], [[2e-6]], LIMITS
    )
    head, row, total, limits = str(report).splitlines()
    assert "bound by" in head and "50%" in row
    assert total.startswith("total")
    assert limits == "limits: float32 1, int8 4 GFLOP/s; L1 1, L2 0, memory 0 GB/s; 1 thread"
