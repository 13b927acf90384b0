from __future__ import annotations

from collections.abc import Iterator

import pytest

from relay_tune.codegen.target import native_target, parse_target
from relay_tune.errors import InputError
from relay_tune.machine.permission import Permission
from relay_tune.runtime import processor_check
from relay_tune.runtime.processor_check import check_features, check_measurable

TRIPLE = native_target().triple


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    processor_check._host_features.cache_clear()
    yield
    processor_check._host_features.cache_clear()


def _set_features(monkeypatch: pytest.MonkeyPatch, features: dict[str, bool]) -> None:
    monkeypatch.setattr(processor_check.llvm, "get_host_cpu_features", lambda: features)


def test_features_that_the_processor_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_features(monkeypatch, {"avx2": True, "avx512f": False})
    check_features(TRIPLE, ["avx2"], "it")
    with pytest.raises(InputError, match=r"made for it, but this machine lacks avx512f, gfni\."):
        check_features(TRIPLE, ["avx2", "avx512f", "gfni"], "it")


@pytest.mark.parametrize("permitted", [True, False])
def test_matrix_registers_need_permission(monkeypatch: pytest.MonkeyPatch, permitted: bool) -> None:
    _set_features(monkeypatch, {"avx2": True, "amx-tile": True})
    monkeypatch.setattr(Permission, "ask", lambda _: permitted)
    check_features(TRIPLE, ["avx2"], "it")
    if permitted:
        check_features(TRIPLE, ["amx-tile"], "it")
        return
    with pytest.raises(InputError, match="lacks amx-tile"):
        check_features(TRIPLE, ["amx-tile"], "it")


def test_another_architecture() -> None:
    with pytest.raises(InputError, match="this machine is"):
        check_features("riscv64-linux-gnu", [], "it")


def test_kernels_are_measurable_where_all_that_they_may_use_is_there() -> None:
    check_measurable(native_target())


def test_kernels_that_may_use_what_is_not_there_are_not_measurable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _set_features(monkeypatch, {})
    cpu = "haswell" if TRIPLE.startswith("x86_64") else "neoverse-n1"
    with pytest.raises(InputError, match="cannot be measured on this machine, which lacks "):
        check_measurable(parse_target(f"{TRIPLE}:{cpu}"))
