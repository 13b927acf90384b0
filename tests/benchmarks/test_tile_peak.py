from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest

from benchmarks.tile_peak import (
    COLUMN_FLOATS,
    ITERATIONS,
    ROWS,
    columns_of,
    operations,
    tile_peak_run,
    tile_text,
)
from relay_tune.codegen.target import native_target, parse_target


@pytest.mark.parametrize("name", ["native", "x86_64-linux-gnu:haswell", "aarch64-linux-gnu"])
def test_every_accumulator_gets_one_product_a_step(name: str) -> None:
    target = parse_target(name)
    text = tile_text(target)
    llvm.parse_assembly(text).verify()
    cells = ROWS * columns_of(target)
    assert text.count("= call") == cells
    assert cells + columns_of(target) + 1 < target.vector_registers
    assert operations(target) == 2 * ITERATIONS * cells * target.lanes("float32")


def test_sums_are_those_of_all_steps() -> None:
    run = tile_peak_run(1)
    target = native_target()
    buffer = run.args[1]
    buffer[:] = 2.0**-8
    run()
    sums = buffer[COLUMN_FLOATS : COLUMN_FLOATS + target.lanes("float32")]
    np.testing.assert_allclose(sums, ITERATIONS * 2.0**-16, rtol=1e-4)
