"""The clock that generated code reads."""

from __future__ import annotations

_MONOTONIC_CLOCK = {"darwin": 6, "macosx": 6}  # CLOCK_MONOTONIC of <time.h>; 1 on Linux


def clock_text(triple: str) -> str:
    """LLVM IR of `i64 @now()`: the nanoseconds of the monotonic clock."""
    clock = next((n for name, n in _MONOTONIC_CLOCK.items() if name in triple), 1)
    return _TEXT.format(clock=clock)


_TEXT = """\
declare i32 @clock_gettime(i32, ptr)

define internal i64 @now() nounwind {{
entry:
  %time = alloca [2 x i64], align 8
  %status = call i32 @clock_gettime(i32 {clock}, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest = getelementptr i64, ptr %time, i64 1
  %nanoseconds = load i64, ptr %rest, align 8
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %nanoseconds
  ret i64 %sum
}}
"""
