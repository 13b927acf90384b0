"""Statements on matrix registers as code: its text, and what it computes."""

from __future__ import annotations

import re
import shutil
import subprocess
from math import prod
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.kernels.kernel_writer import write_kernel
from relay_tune.codegen.target import native_target, parse_target
from relay_tune.errors import BuildError
from relay_tune.ir.dim import Symbol
from relay_tune.machine.pattern import BFLOAT16_PAIRS, Side
from relay_tune.targets.x86.amx.description import matrix_description
from relay_tune.targets.x86.amx.emission import ASKED
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.loops import Block, Kernel, LoopKind, Statement
from relay_tune.tensor.matrix_registers import (
    MatrixClear,
    MatrixLoad,
    MatrixMultiply,
    MatrixRegisters,
    MatrixStore,
)
from relay_tune.tensor.run_loops import run_loops
from relay_tune.tensor.size import symbolic_size
from tests.codegen.running import NATIVE, argument, loop, number, run_native

SERVER = parse_target("x86_64-linux-gnu:sapphirerapids")
PARTS, STEPS, ROWS = 3, 2, 13

needs_registers = pytest.mark.skipif(
    not native_target().intrinsics, reason="needs matrix registers"
)

LEFT = argument("left", (PARTS, ROWS, 32 * STEPS), "bfloat16")
RIGHT = argument("right", (STEPS, 16, 32), "bfloat16")
RESULT = argument("result", (PARTS, ROWS, 16))


def products(kind: LoopKind = LoopKind.PARALLEL) -> Statement:
    """result[p] = left[p] * right, p in parallel."""
    p, k = Axis("p", PARTS), Axis("k", STEPS)
    zero = number(0)
    step = loop(
        k,
        MatrixLoad(Side.LEFT, 4, LEFT, (p, zero, k * 32), 32 * STEPS),
        MatrixLoad(Side.RIGHT, 5, RIGHT, (k, zero, zero), 32),
        MatrixMultiply(0, 4, 5),
    )
    tile = Block((MatrixClear(0), step, MatrixStore(0, RESULT, (p, zero, zero), 16)))
    rows = (ROWS, 0, 0, 0, ROWS, 16, 0, 0)
    return MatrixRegisters(BFLOAT16_PAIRS, rows, loop(p, tile, kind=kind))


def kernel(name: str = "kernel") -> Kernel:
    return Kernel(name, (LEFT, RIGHT, RESULT), (LEFT, RIGHT, RESULT), products())


# Text --------------------------------------------------------------------------------------------


def test_the_instructions_of_a_kernel() -> None:
    text = write_kernel(kernel(), intrinsics=SERVER.intrinsics).text
    calls = [line.split("@llvm.x86.")[1] for line in text.splitlines() if "@llvm.x86." in line]
    names = [call.split("(")[0] for call in calls]
    assert names == [
        "ldtilecfg",
        "tilezero",
        "tileloadd64",
        "tileloadd64",
        "tdpbf16ps",
        "tilestored64",
        "tilerelease",
    ]
    assert calls[1] == "tilezero(i8 0)"
    assert calls[2].startswith("tileloadd64(i8 4, ptr %") and calls[2].endswith(", i64 128)")
    assert calls[3].startswith("tileloadd64(i8 5, ptr %") and calls[3].endswith(", i64 64)")
    assert calls[4] == "tdpbf16ps(i8 0, i8 4, i8 5)"
    assert calls[5].startswith("tilestored64(i8 0, ptr %") and calls[5].endswith(", i64 64)")
    assert calls[6] == "tilerelease()"


def test_permission_is_asked_for_once_a_module() -> None:
    text = module_text([kernel("first"), kernel("second")], SERVER)
    assert text.count(f"@{ASKED} = internal global i8 0") == 1
    assert text.count("declare i64 @syscall(i64, ...)") == 1
    for function in text.split("define ")[1:]:
        # ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA
        assert function.count("@syscall(i64 158, i64 4131, i64 18)") == 1
        assert function.index("@syscall") < function.index("@llvm.x86.ldtilecfg")


def test_a_description_has_one_palette_and_eight_registers() -> None:
    text = matrix_description((16, 7, 0, 0, 0, 0, 0, 1))
    assert text.startswith('[64 x i8] c"') and text.endswith('"')
    data = bytes.fromhex(text[len('[64 x i8] c"') : -1].replace("\\", ""))
    assert len(data) == 64
    assert data[0] == 1  # palette
    assert not any(data[1:16])
    widths = [int.from_bytes(data[16 + 2 * n : 18 + 2 * n], "little") for n in range(16)]
    assert widths == [64, 64, 0, 0, 0, 0, 0, 64] + [0] * 8
    assert list(data[48:]) == [16, 7, 0, 0, 0, 0, 0, 1] + [0] * 8


def test_equal_descriptions_are_stored_once() -> None:
    text = module_text([kernel("first"), kernel("second")], SERVER)
    assert text.count("@matrix_rows_13_0_0_0_13_16_0_0 = ") == 1


def test_registers_inside_of_others_have_as_many_rows_as_a_run_says() -> None:
    """Those around them are described again behind them."""
    size = symbolic_size(Symbol("n"), 9)
    buffer = argument("result", (size, 16))
    at = (number(0), number(0))
    tile = Block((MatrixClear(0), MatrixStore(0, buffer, at, 16)))
    few = MatrixRegisters(BFLOAT16_PAIRS, (size % 16, 0, 0, 0, size % 16, 16, 0, 0), tile)
    whole = MatrixRegisters(BFLOAT16_PAIRS, (16, 0, 0, 0, 16, 16, 0, 0), Block((tile, few, tile)))
    own = Kernel("kernel", (buffer,), (buffer,), whole, sizes=("n",))
    found = write_kernel(own, intrinsics=SERVER.intrinsics)
    calls = [line for line in found.text.splitlines() if "call void @llvm.x86.ldtilecfg" in line]
    usual = "ldtilecfg(ptr @matrix_rows_16_0_0_0_16_16_0_0)"
    assert [usual in call for call in calls] == [True, False, True]
    assert "getelementptr [64 x i8], ptr @matrix_rows_n_0_0_0_n_16_0_0, i64 %" in found.text
    (table,) = (each for each in found.declarations if "@matrix_rows_n_" in each)
    assert "constant [17 x [64 x i8]]" in table
    rows = [text[-3 * 16 : -3 * 16 + 3] for text in re.findall(r'c"([^"]*)"', table)]
    assert rows == [f"\\{n:02X}" for n in range(17)]


def test_rows_may_lie_as_far_apart_as_a_run_says() -> None:
    size = symbolic_size(Symbol("n"), 9)
    buffer = argument("left", (16, size, 32), "bfloat16")
    load = MatrixLoad(Side.LEFT, 4, buffer, (number(0), number(0), number(0)), 32 * size)
    body = MatrixRegisters(BFLOAT16_PAIRS, (16,) * 6 + (0, 0), load)
    text = write_kernel(
        Kernel("kernel", (buffer,), (buffer,), body, sizes=("n",)), intrinsics=SERVER.intrinsics
    ).text
    (stride,) = re.findall(r"tileloadd64\(i8 4, ptr %\S+, i64 (%\S+)\)", text)
    assert f"{stride} = mul nsw i64 %n0, 64" in text


@pytest.mark.parametrize("name", ["haswell", "x86-64-v4", "sapphirerapids:-amx-bf16"])
def test_targets_without_registers_have_no_such_kernels(name: str) -> None:
    """LLVM would end the process."""
    target = parse_target(f"x86_64-linux-gnu:{name}")
    with pytest.raises(BuildError, match="The schedule uses matrix registers, which"):
        module_text([kernel()], target)


# Code --------------------------------------------------------------------------------------------


def operands() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {
        buffer.name: rng.integers(-9, 10, buffer.shape).astype(ml_dtypes.bfloat16)
        for buffer in (LEFT, RIGHT)
    }


@needs_registers
@pytest.mark.parametrize("kind", [LoopKind.PARALLEL, LoopKind.SERIAL])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_native_code_computes_what_statements_say(threads: int, kind: LoopKind) -> None:
    found = operands()
    arrays = {
        LEFT: found["left"],
        RIGHT: found["right"],
        RESULT: np.zeros(RESULT.shape, np.float32),
    }
    expected = {buffer: array.copy() for buffer, array in arrays.items()}
    run_loops(products(kind), dict(expected))
    assert expected[RESULT].any()
    for at_end in (True, False):
        native = run_native(products(kind), arrays, NATIVE, threads=threads, at_end=at_end)
        np.testing.assert_array_equal(native[RESULT], expected[RESULT])


PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
void kernel(const void*, const void*, void*, int64_t, int64_t);
static uint16_t left[LEFT], right[RIGHT];
static float result[RESULT];
int main(void) {
    if (fread(left, 2, LEFT, stdin) != LEFT || fread(right, 2, RIGHT, stdin) != RIGHT)
        return 1;
    for (int call = 0; call < 3; call++)
        kernel(left, right, result, 0, 1);
    return fwrite(result, 4, RESULT, stdout) != RESULT;
}
"""


@needs_registers
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_kernel_asks_for_the_registers_itself(tmp_path: Path) -> None:
    """In a process of its own nobody else did: the first instruction would end it."""
    image = compile_text(module_text([kernel()], NATIVE), NATIVE)
    (tmp_path / "kernel.o").write_bytes(image)
    (tmp_path / "main.c").write_text(PROGRAM)
    sizes = [f"-D{buffer.name.upper()}={prod(buffer.shape)}" for buffer in (LEFT, RIGHT, RESULT)]
    command = ["cc", *sizes, "main.c", "kernel.o", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    arrays = operands()
    data = arrays["left"].tobytes() + arrays["right"].tobytes()
    run = subprocess.run([tmp_path / "main"], input=data, capture_output=True, check=True)
    expected = {
        LEFT: arrays["left"],
        RIGHT: arrays["right"],
        RESULT: np.zeros(RESULT.shape, np.float32),
    }
    run_loops(products(), dict(expected))
    found = np.frombuffer(run.stdout, np.float32).reshape(RESULT.shape)
    np.testing.assert_array_equal(found, expected[RESULT])
