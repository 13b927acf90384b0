"""Whether all indices of a run of a network were in range."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from relay_tune.codegen.compiler import LoadedCode
from relay_tune.codegen.index_checks import STATUS_SYMBOL, ProgramCheck
from relay_tune.errors import IndexRangeError
from relay_tune.op.index_check import index_error


class IndexStatus:
    """Asks a loaded network, whose runs use a table of addresses, what its checks found.

    Attributes:
        address: the native function that tells.
        found: an index that is out of range, and the size of its axis.
    """

    def __init__(
        self, code: LoadedCode, table: ctypes.Array[ctypes.c_void_p], checks: Sequence[ProgramCheck]
    ) -> None:
        self.address = code.address(STATUS_SYMBOL)
        self.found = (ctypes.c_int64 * 2)()
        self._table = table
        self._messages = [check.message for check in checks]
        types = ctypes.c_void_p, ctypes.c_void_p
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(self.address)

    def require_valid(self) -> None:
        """IndexRangeError if the last run met an index that is out of range."""
        status = self._function(ctypes.addressof(self._table), ctypes.addressof(self.found))
        if status:
            raise self.error(status)

    def error(self, status: int) -> IndexRangeError:
        """What a status above 0 means."""
        index, size = self.found
        return index_error(self._messages[status - 1], index, size)
