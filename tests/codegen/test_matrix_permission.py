from __future__ import annotations

import ctypes
import sys

import pytest

from relay_tune.codegen.matrix_permission import (
    ARCH_PRCTL,
    TILE_DATA,
    matrix_registers_permitted,
)
from relay_tune.codegen.target import native_target

GET_PERMISSION = 0x1022
"""ARCH_GET_XCOMP_PERM."""


@pytest.mark.skipif(not native_target().has_matrix_tiles, reason="needs matrix registers")
def test_the_system_remembers_the_permission() -> None:
    assert matrix_registers_permitted()
    permitted = ctypes.c_ulong(0)
    status = ctypes.CDLL(None).syscall(
        ctypes.c_long(ARCH_PRCTL), ctypes.c_long(GET_PERMISSION), ctypes.byref(permitted)
    )
    assert status == 0
    assert permitted.value >> TILE_DATA & 1


def test_other_systems_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not matrix_registers_permitted()
