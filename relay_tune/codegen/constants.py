"""The constants of a compiled program, which exist as bytes only when somebody wants them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

CONSTANTS_SYMBOL = "relay_tune_constants"
"""Their name in machine code."""


class Constants(Protocol):
    """A block of bytes, each constant in it on a multiple of 64 and as its kernel reads it."""

    @property
    def size(self) -> int:
        """The bytes of the whole block."""

    def array(self) -> np.ndarray:
        """The block in memory, 64-byte aligned; made with the first call and kept."""

    def pieces(self) -> Iterator[memoryview]:
        """The bytes in order, piece by piece, so that they need not all be in memory at once."""
