"""Loops of multiplications of matrix registers, as products of float32 have them.

A product of float32 is three of bfloat16: each factor is the sum of a high and a low part, and the
product of the low ones is left away. A step of the loop does that for two by two blocks of the
result, with four registers for them and four for parts of the factors:

    low rows x high columns, high rows x high columns, high rows x low columns

It loads its operands from the first cache as kernels do. Without the loads, or with zeros as
operands, processors keep a higher clock than in any kernel.
"""

from __future__ import annotations

from relay_tune.machine.intrinsic import PeakLoop
from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.targets.x86.amx.description import ROW_BYTES, matrix_description

_REGISTER_BYTES = BFLOAT16_PAIRS.rows * ROW_BYTES
_BLOCKS = 8
"""High and low parts of two blocks of rows and columns."""

_ROWS, _COLUMNS = (4, 5), (6, 7)
"""The registers of operands."""

_LOADS = (
    {4: 0, 5: 1, 6: 2, 7: 3},
    {4: 4, 5: 5},
    {6: 6, 7: 7},
)
"""Registers and the blocks of the buffer that go into them, before each four multiplications."""


def _part(loads: dict[int, int], instruction: str) -> list[str]:
    """Loads, and the products of both rows and both columns."""
    lines = [
        f"  call void @llvm.x86.tileloadd64(i8 {register}, ptr %block{block}, i64 {ROW_BYTES})"
        for register, block in loads.items()
    ]
    pairs = [(row, column) for row in _ROWS for column in _COLUMNS]
    lines += [
        f"  call void @llvm.x86.{instruction}(i8 {sums}, i8 {row}, i8 {column})"
        for sums, (row, column) in enumerate(pairs)
    ]
    return lines


_DESCRIPTION = matrix_description([BFLOAT16_PAIRS.rows] * BFLOAT16_PAIRS.registers)


def peak_of(instruction: str) -> PeakLoop:
    """The loop of the instruction that multiplies registers."""
    return PeakLoop(
        symbol=f"limit_{instruction}",
        declarations=(
            f"@description = internal constant {_DESCRIPTION}, align 64",
            "declare void @llvm.x86.ldtilecfg(ptr)",
            "declare void @llvm.x86.tilerelease()",
            "declare void @llvm.x86.tilezero(i8 immarg)",
            "declare void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)",
            f"declare void @llvm.x86.{instruction}(i8 immarg, i8 immarg, i8 immarg)",
        ),
        body=(
            *(
                f"  %block{n} = getelementptr i8, ptr %buffer, i64 {n * _REGISTER_BYTES}"
                for n in range(_BLOCKS)
            ),
            "  call void @llvm.x86.ldtilecfg(ptr @description)",
            *(f"  call void @llvm.x86.tilezero(i8 {n})" for n in range(4)),
            "  br label %loop",
            "loop:",
            "  %step = phi i64 [ 0, %entry ], [ %following, %loop ]",
            *(line for loads in _LOADS for line in _part(loads, instruction)),
            "  %following = add i64 %step, 1",
            "  %more = icmp ult i64 %following, %count",
            "  br i1 %more, label %loop, label %end",
            "end:",
            "  call void @llvm.x86.tilerelease()",
            "  ret void",
        ),
        calls=12,
        operand_bytes=_BLOCKS * _REGISTER_BYTES,
    )
