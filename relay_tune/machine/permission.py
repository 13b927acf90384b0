"""Asking the operating system for registers that it saves only for processes that want them.

Without permission the first instruction on such registers ends the process. (Linux,
Documentation/arch/x86/xstate.rst.)
"""

from __future__ import annotations

import ctypes
import sys

from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Permission:
    """What is asked of Linux, once in a process.

    Attributes:
        prefix: of the names of all features on the registers.
        call: the number of the system call.
        arguments: of that call.
        state: the bits that the system sets (XCR0 of x86) where it can save them.
    """

    prefix: str
    call: int
    arguments: tuple[int, ...]
    state: int

    def covers(self, feature: str) -> bool:
        """Whether a feature is of these registers."""
        return feature.startswith(self.prefix)

    @property
    def operands(self) -> str:
        """The operands of `i64 @syscall(i64, ...)`."""
        return ", ".join(f"i64 {number}" for number in (self.call, *self.arguments))

    def ask(self) -> bool:
        """Whether all threads of this process may use the registers from now on.

        Ask on the processors that have them only: system calls have other numbers elsewhere. Asking
        again does no harm.
        """
        if sys.platform != "linux":
            return False
        system_call = ctypes.CDLL(None).syscall
        system_call.restype = ctypes.c_long
        return bool(system_call(*map(ctypes.c_long, (self.call, *self.arguments))) == 0)
