"""The check of the indices of a network, after its kernels have run, as one native function.

    i64 relay_tune_status(ptr buffers, ptr found)

`buffers` is the table of addresses that the main function was given. The result is 0, or the number
of the first check that fails, counted from 1; then `found` has the index and the size of its axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relay_tune.codegen.main_function import Place

STATUS_SYMBOL = "relay_tune_status"


@dataclass(frozen=True, slots=True)
class ProgramCheck:
    """Indices that are checked when a program has run.

    Attributes:
        extent: where the extents of the coordinates lie, a word each.
        sizes: what they are compared with, or where these numbers lie.
        message: what is said where an index is outside.
    """

    extent: Place
    sizes: tuple[int | Place, ...]
    message: str


def status_text(checks: Sequence[ProgramCheck], triple: str) -> str:
    """The LLVM module of the function."""
    lines = [
        f'target triple = "{triple}"',
        f"define i64 @{STATUS_SYMBOL}(ptr %buffers, ptr %found) nounwind {{",
        "entry:",
    ]
    pairs = [
        (number, Place(check.extent.slot, check.extent.offset + 8 * index), size)
        for number, check in enumerate(checks, start=1)
        for index, size in enumerate(check.sizes)
    ]
    for n, (number, extent, size) in enumerate(pairs):
        lines += [
            *_load_lines("extent", n, extent),
            *_size_lines(n, size),
            f"  %limit{n} = shl i64 %count{n}, 1",
            f"  %bad{n} = icmp uge i64 %extent{n}, %limit{n}",
            f"  br i1 %bad{n}, label %fail{n}, label %next{n}",
            f"fail{n}:",
            *index_lines(f"%index{n}", f"%extent{n}"),
            f"  store i64 %index{n}, ptr %found, align 8",
            f"  %size{n} = getelementptr i64, ptr %found, i64 1",
            f"  store i64 %count{n}, ptr %size{n}, align 8",
            f"  ret i64 {number}",
            f"next{n}:",
        ]
    return "\n".join([*lines, "  ret i64 0", "}", ""])


def _size_lines(n: int, size: int | Place) -> list[str]:
    if isinstance(size, Place):
        return _load_lines("count", n, size)
    return [f"  %count{n} = add i64 {size}, 0"]


def _load_lines(name: str, n: int, place: Place) -> list[str]:
    return [
        f"  %{name}{n}.slot = getelementptr ptr, ptr %buffers, i64 {place.slot}",
        f"  %{name}{n}.base = load ptr, ptr %{name}{n}.slot, align 8",
        f"  %{name}{n}.at = getelementptr i8, ptr %{name}{n}.base, i64 {place.offset}",
        f"  %{name}{n} = load i64, ptr %{name}{n}.at, align 8",
    ]


def index_lines(result: str, extent: str) -> list[str]:
    """Instructions that find the index that an extent stands for."""
    return [
        f"  {result}.sign = and i64 {extent}, 1",
        f"  {result}.mask = sub i64 0, {result}.sign",
        f"  {result}.half = lshr i64 {extent}, 1",
        f"  {result} = xor i64 {result}.half, {result}.mask",
    ]
