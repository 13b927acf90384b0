"""The float32 speed limit of a register tile whose operands come from the first cache, measured.

    python -m benchmarks.tile_peak

The loop of a matrix product without anything around it: each step reads a column of one operand and
a row of the other and adds their outer product to accumulators in registers. All operands stay in
the first cache. Some processors lower their clock when loads join the multiply-adds; what a matrix
product can reach is then this limit, not that of `benchmarks.peak`.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from benchmarks.interleave import interleaved_medians
from benchmarks.multiply_add_loop import (
    ITERATIONS,
    fused_multiply_add,
    loop_text,
    parallel_run,
    vector_type,
)
from benchmarks.peak import operations as register_operations
from benchmarks.peak import peak_run
from relay_tune.codegen.target import Target, native_target

SYMBOL = "register_tile_loop"
STEPS = 32
"""Different steps; their operands take a few kilobytes."""

ROWS = 6
COLUMN_FLOATS = ROWS * STEPS
MOST_COLUMNS = 4
BUFFER_FLOATS = COLUMN_FLOATS + (STEPS + 1) * MOST_COLUMNS * 16


def columns_of(target: Target) -> int:
    """Vectors of a row: as many as leave registers for a row of operands and one element."""
    return min(MOST_COLUMNS, (target.vector_registers - 2) // (ROWS + 1))


def operations(target: Target) -> int:
    """Floating-point operations of one call on one core."""
    return 2 * ROWS * columns_of(target) * target.lanes("float32") * ITERATIONS


def tile_text(target: Target) -> str:
    """The loop as LLVM text: `void register_tile_loop(float *operands, i64 thread, i64 threads)`.

    `operands` holds `BUFFER_FLOATS` for each thread: columns, then rows; the sums replace the first
    row in the end.
    """
    lanes, columns = target.lanes("float32"), columns_of(target)
    vector = vector_type(target)
    cells = [(row, column) for row in range(ROWS) for column in range(columns)]
    sums = [
        f"%s{r}_{c} = phi {vector} [ zeroinitializer, %entry ], [ %t{r}_{c}, %loop ]"
        for r, c in cells
    ]
    entry = [f"%rows = getelementptr float, ptr %mine, i64 {COLUMN_FLOATS}"]
    step = [
        f"%step = and i64 %i, {STEPS - 1}",
        "%column = getelementptr float, ptr %mine, i64 %step",
        f"%start = mul i64 %step, {columns * lanes}",
        "%row = getelementptr float, ptr %rows, i64 %start",
    ]
    products = [
        f"%t{r}_{c} = {fused_multiply_add(target, f'%c{r}', f'%r{c}', f'%s{r}_{c}')}"
        for r, c in cells
    ]
    body = [*sums, *step, *_loads(vector, lanes, columns), *products]
    end = [f"store {vector} %t{r}_{c}, ptr %rows, align {4 * lanes}" for r, c in cells]
    return loop_text(target, SYMBOL, BUFFER_FLOATS, entry, body, end)


def _loads(vector: str, lanes: int, columns: int) -> list[str]:
    """A row of the one operand, and the elements of a column of the other, each over all lanes."""
    lines = []
    for column in range(columns):
        lines += [
            f"%rp{column} = getelementptr {vector}, ptr %row, i64 {column}",
            f"%r{column} = load {vector}, ptr %rp{column}, align {4 * lanes}",
        ]
    for row in range(ROWS):
        lines += [
            f"%cp{row} = getelementptr float, ptr %column, i64 {row * STEPS}",
            f"%e{row} = load float, ptr %cp{row}, align 4",
            f"%i{row} = insertelement {vector} poison, float %e{row}, i64 0",
            f"%c{row} = shufflevector {vector} %i{row}, {vector} poison, "
            f"<{lanes} x i32> zeroinitializer",
        ]
    return lines


def tile_peak_run(threads: int) -> partial[None]:
    """A function that runs the loop on `threads` cores at once, `operations` on each."""
    room = np.zeros(threads * BUFFER_FLOATS + 16, np.float32)
    skipped = -room.ctypes.data % 64 // 4
    buffers = room[skipped : skipped + threads * BUFFER_FLOATS]
    return parallel_run(SYMBOL, tile_text(native_target()), buffers, threads)


def main() -> int:
    """Print both limits of one core."""
    target = native_target()
    seconds = interleaved_medians({"registers": peak_run(1), "tile": tile_peak_run(1)})
    registers = register_operations(target) / seconds["registers"] / 1e9
    tile = operations(target) / seconds["tile"] / 1e9
    print(f"registers alone: {registers:.0f} GFLOP/s")
    print(f"register tile of {ROWS}x{columns_of(target)} vectors: {tile:.0f} GFLOP/s")
    print(f"share: {tile / registers:.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
