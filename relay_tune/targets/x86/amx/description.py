"""What LDTILECFG reads: how many rows and bytes each matrix register has.

Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, LDTILECFG.
"""

from __future__ import annotations

from collections.abc import Sequence

ROW_BYTES = 64
MOST_ROWS = 16
_PALETTE = 1


def matrix_description(rows: Sequence[int], widths: Sequence[int] = ()) -> str:
    """A constant of LLVM IR, 64 bytes: palette 1, registers of so many rows of so many bytes each.

    Rows have 64 bytes where `widths` has 0, or nothing.
    """
    known = [width or ROW_BYTES for width in widths] or [ROW_BYTES] * len(rows)
    own = [width if count else 0 for width, count in zip(known, rows, strict=True)]
    stored = b"".join(width.to_bytes(2, "little") for width in own)
    data = (
        bytes([_PALETTE]).ljust(16, b"\0") + stored.ljust(32, b"\0") + bytes(rows).ljust(16, b"\0")
    )
    text = "".join(f"\\{byte:02X}" for byte in data)
    return f'[{len(data)} x i8] c"{text}"'


def matrix_descriptions(rows: Sequence[int | None], widths: Sequence[int] = ()) -> str:
    """Constants for 0, 1 .. 16 rows of the registers that have None, one after the other."""
    every = range(MOST_ROWS + 1)
    each = [matrix_description([n if r is None else r for r in rows], widths) for n in every]
    return f"[{len(each)} x [64 x i8]] [{', '.join(f'[64 x i8] {text[10:]}' for text in each)}]"
