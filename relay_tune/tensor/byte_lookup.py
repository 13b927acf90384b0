"""Lookups of bytes by a byte: table[index] of 256 elements, for which some machines have registers.

table[int64(x[i])]          x: uint8, table: uint8[256] or int8[256]
"""

from __future__ import annotations

from relay_tune.tensor.expression import INDEX, Cast, Load, Scalar

TABLE_SIZE = 256
"""The bytes that there are."""

BYTE_TYPES = ("uint8", "int8")


def looked_up_byte(load: Load) -> Scalar | None:
    """The byte by which a load looks up another one; None where it is no such load."""
    if load.dtype not in BYTE_TYPES or load.tensor.shape != (TABLE_SIZE,):
        return None
    match load.indices:
        case (Cast(dtype=dtype, operand=index),) if dtype == INDEX and index.dtype == "uint8":
            return index
    return None
