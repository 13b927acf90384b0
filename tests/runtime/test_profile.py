from __future__ import annotations

import pytest

from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.runtime.profile import ProfileReport, ProfileRow

LIMITS = MachineLimits(
    1, {"float32": 1e9, "int8": 4e9}, (CacheLimit(1e3, 1e9), CacheLimit(1e6, 1e8)), 1e7
)


def report(*rows: tuple[str, KernelWork, float]) -> ProfileReport:
    total = sum(seconds for *_, seconds in rows)
    return ProfileReport(
        tuple(
            ProfileRow(title, title, seconds, work, LIMITS.bound(work), seconds / total)
            for title, work, seconds in rows
        ),
        LIMITS,
    )


def test_each_row_names_the_limit_that_binds_and_its_share() -> None:
    rows = report(
        ("matmul", KernelWork(1000, {"float32": 1000}, 100), 2e-6),
        ("winograd", KernelWork(4000, {"float32": 1000}, 100), 2e-6),
        ("bytes", KernelWork(1000, {"int8": 1000}, 100), 1e-6),
        ("copy", KernelWork(10, {"float32": 10}, 100_000), 2e-3),
    ).rows
    names = [row.bound.name for row in rows]
    assert names == ["compute", "compute", "compute", "L2"]
    shares = [row.limit_share for row in rows]
    assert shares == pytest.approx([0.5, 0.5, 0.25, 0.5])
    assert rows[1].gflops == pytest.approx(2.0)
    assert rows[3].gigabytes_per_second == pytest.approx(0.05)
    assert sum(row.share for row in rows) == pytest.approx(1.0)


def test_the_table_has_a_line_for_each_primitive_and_the_limits() -> None:
    work = KernelWork(1000, {"float32": 1000}, 100, instruction="vpdpbusd")
    shown = str(report(("matmul", work, 2e-6)))
    head, row, total, limits = shown.splitlines()
    assert "bound by" in head and "50%" in row
    assert head.endswith("computed by") and row.endswith("vpdpbusd")
    assert total.startswith("total")
    assert limits == "limits: float32 1, int8 4 GFLOP/s; L1 1, L2 0, memory 0 GB/s; 1 thread"
