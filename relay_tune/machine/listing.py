"""Machine code as it is written down: bytes in hexadecimal, and beside them what they mean.

LLVM assembles only for the architecture that it runs on; a library may be for another.
"""

from __future__ import annotations

_BYTES_END = 17
"""The column where the instruction begins, in text; its bytes stand before."""


def machine_code(*listings: str) -> bytes:
    """The bytes of some listings."""
    lines = [line for listing in listings for line in listing.splitlines()]
    return bytes.fromhex("".join(line[:_BYTES_END] for line in lines))
