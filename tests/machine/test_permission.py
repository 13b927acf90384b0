from __future__ import annotations

import ctypes
import sys

import pytest

from relay_tune.codegen.target import native_target
from relay_tune.targets.x86.amx.emission import PERMISSION

GET_PERMISSION = 0x1022
"""ARCH_GET_XCOMP_PERM."""


@pytest.mark.skipif(not native_target().intrinsics, reason="needs matrix registers")
def test_the_system_remembers_the_permission() -> None:
    assert PERMISSION.ask()
    permitted = ctypes.c_ulong(0)
    status = ctypes.CDLL(None).syscall(
        ctypes.c_long(PERMISSION.call), ctypes.c_long(GET_PERMISSION), ctypes.byref(permitted)
    )
    assert status == 0
    assert permitted.value >> PERMISSION.arguments[-1] & 1


def test_other_systems_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not PERMISSION.ask()
