"""Tables of constants in LLVM IR, and C functions that look into them."""

from __future__ import annotations

from collections.abc import Sequence


def pointer_table(name: str, contents: Sequence[str]) -> list[str]:
    """The function `ptr NAME(i32)`: the address of constant number i, or null."""
    lines = [
        f"@{name}.{number} = internal constant {content}, align 8"
        for number, content in enumerate(contents)
    ]
    pointers = ", ".join(f"ptr @{name}.{number}" for number in range(len(contents)))
    lines.append(f"@{name}.table = internal constant [{len(contents)} x ptr] [{pointers}], align 8")
    return [*lines, _lookup(name, "ptr", len(contents), "null")]


def number_table(name: str, kind: str, numbers: Sequence[int]) -> list[str]:
    """The function `kind NAME(i32)`: number i, or -1."""
    listed = ", ".join(f"{kind} {number}" for number in numbers)
    table = f"@{name}.table = internal constant [{len(numbers)} x {kind}] [{listed}], align 8"
    return [table, _lookup(name, kind, len(numbers), "-1")]


def _lookup(name: str, kind: str, count: int, otherwise: str) -> str:
    return f"""\
define {kind} @{name}(i32 %index) nounwind {{
entry:
  %inside = icmp ult i32 %index, {count}
  br i1 %inside, label %found, label %outside
found:
  %wide = zext i32 %index to i64
  %place = getelementptr {kind}, ptr @{name}.table, i64 %wide
  %value = load {kind}, ptr %place, align 4
  ret {kind} %value
outside:
  ret {kind} {otherwise}
}}"""


def integers_constant(numbers: Sequence[int]) -> str:
    """An array of 64-bit numbers as an LLVM constant with its type."""
    listed = ", ".join(f"i64 {number}" for number in numbers)
    return f"[{len(numbers)} x i64] [{listed}]"


def string_constant(text: str) -> str:
    """A C string as an LLVM constant with its type."""
    data = text.encode() + b"\0"
    escaped = "".join(chr(b) if chr(b).isalnum() and b < 128 else f"\\{b:02X}" for b in data)
    return f'[{len(data)} x i8] c"{escaped}"'
