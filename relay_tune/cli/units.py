"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def time_text(seconds: float | None) -> str:
    """A short time with three digits and a unit, such as `1.25 ms`; `-` for None."""
    if seconds is None:
        return "-"
    for size, unit in _TIMES:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def clock_text(seconds: float) -> str:
    """A long time as minutes and seconds, such as `4:05`."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{rest:02}"


def table_text(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows in columns; the first row is the head, the last column is not padded."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def share_text(share: float | None, limit: str = "") -> str:
    """How near a time is to what the machine can reach, and what limits it."""
    if share is None:
        return "limit unknown"
    return f"{share:.0%} of the machine's limit{f' ({limit})' if limit else ''}"


def rate_text(operations: float, moved: float, seconds: float | None) -> str:
    """Operations and bytes by the time, such as `120 GFLOP/s, 3.1 GB/s`; `-` without a time."""
    if not seconds:
        return "-"
    return f"{operations / seconds / 1e9:.3g} GFLOP/s, {moved / seconds / 1e9:.3g} GB/s"
