"""A loop of multiplications of matrix registers (Intel AMX), as products of float32 have them.

A product of float32 is three of bfloat16: each factor is the sum of a high and a low part, and the
product of the low ones is left away. A step of the loop does that for two by two blocks of the
result, with four registers for them and four for parts of the factors:

    low rows x high columns, high rows x high columns, high rows x low columns

It loads its operands from the first cache as kernels do. Without the loads, or with zeros as
operands, processors keep a higher clock than in any kernel.
"""

from __future__ import annotations

from relay_tune.codegen.limit_loops import loop_entry
from relay_tune.codegen.matrix_description import matrix_description
from relay_tune.codegen.target import Target
from relay_tune.tensor.matrix_registers import COLUMNS, REGISTERS, ROW_BYTES, ROWS, STEPS

MATRIX_SYMBOL = "limit_matrices"

MULTIPLICATIONS = 12
"""Of one step."""

MULTIPLICATION_OPERATIONS = 2 * ROWS * STEPS * COLUMNS
"""Arithmetic operations of one multiplication: 16 rows of 32 bfloat16 by 32 rows of 16."""

REGISTER_BYTES = ROWS * ROW_BYTES
OPERAND_BYTES = 8 * REGISTER_BYTES
"""What a step reads of a thread's buffer: high and low parts of two blocks of rows and columns."""

_ROWS, _COLUMNS = (4, 5), (6, 7)
"""The registers of operands."""

_LOADS = (
    {4: 0, 5: 1, 6: 2, 7: 3},
    {4: 4, 5: 5},
    {6: 6, 7: 7},
)
"""Registers and the blocks of the buffer that go into them, before each four multiplications."""


def matrix_text(target: Target) -> str:
    """The LLVM module of the loop; the target must have matrix registers."""
    description = matrix_description([ROWS] * REGISTERS)
    lines = [
        f'target triple = "{target.triple}"',
        f"@description = internal constant {description}, align 64",
        "declare void @llvm.x86.ldtilecfg(ptr)",
        "declare void @llvm.x86.tilerelease()",
        "declare void @llvm.x86.tilezero(i8 immarg)",
        "declare void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)",
        "declare void @llvm.x86.tdpbf16ps(i8 immarg, i8 immarg, i8 immarg)",
        *loop_entry(MATRIX_SYMBOL),
        *(
            f"  %block{n} = getelementptr i8, ptr %buffer, i64 {n * REGISTER_BYTES}"
            for n in range(8)
        ),
        "  call void @llvm.x86.ldtilecfg(ptr @description)",
        *(f"  call void @llvm.x86.tilezero(i8 {n})" for n in range(4)),
        "  br label %loop",
        "loop:",
        "  %step = phi i64 [ 0, %entry ], [ %following, %loop ]",
        *(line for loads in _LOADS for line in _part(loads)),
        "  %following = add i64 %step, 1",
        "  %more = icmp ult i64 %following, %count",
        "  br i1 %more, label %loop, label %end",
        "end:",
        "  call void @llvm.x86.tilerelease()",
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _part(loads: dict[int, int]) -> list[str]:
    """Loads, and the products of both rows and both columns."""
    lines = [
        f"  call void @llvm.x86.tileloadd64(i8 {register}, ptr %block{block}, i64 {ROW_BYTES})"
        for register, block in loads.items()
    ]
    pairs = [(row, column) for row in _ROWS for column in _COLUMNS]
    lines += [
        f"  call void @llvm.x86.tdpbf16ps(i8 {sums}, i8 {row}, i8 {column})"
        for sums, (row, column) in enumerate(pairs)
    ]
    return lines
