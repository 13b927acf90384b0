"""Asking the operating system for the matrix registers of x86-64 (Intel AMX).

Their contents are 8 KB that Linux saves for a thread only after its process has asked: without
permission the first such instruction ends the process. (Linux, Documentation/arch/x86/xstate.rst.)
"""

from __future__ import annotations

import ctypes
import sys

ARCH_PRCTL = 158
"""The number of the system call."""

REQUEST_PERMISSION = 0x1023
"""ARCH_REQ_XCOMP_PERM."""

TILE_DATA = 18
"""XFEATURE_XTILE_DATA, the state component that holds the registers."""


def matrix_registers_permitted() -> bool:
    """Ask for the matrix registers; whether all threads of this process may use them from now on.

    Call it on x86-64 only: system calls have other numbers elsewhere. Asking again does no harm.
    """
    if sys.platform != "linux":
        return False
    system_call = ctypes.CDLL(None).syscall
    system_call.restype = ctypes.c_long
    arguments = (ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA)
    return bool(system_call(*map(ctypes.c_long, arguments)) == 0)
