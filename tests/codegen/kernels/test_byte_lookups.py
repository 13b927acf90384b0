"""Bytes looked up in registers: what is found, and by which instruction."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest

from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.llvm_modules import initialize_llvm, parsed_module
from relay_tune.codegen.target import parse_target
from relay_tune.tensor.expression import INDEX, Scalar, cast, reinterpret
from relay_tune.tensor.loops import Kernel, Statement
from tests.codegen.kernels.elementwise import elementwise
from tests.codegen.running import TARGETS, argument, run_native

COUNT = 300
X, TABLE, OUT = (
    argument("x", COUNT, "int8"),
    argument("t", 256, "int8"),
    argument("out", COUNT, "int8"),
)
LOOKING_UP = "x86_64-linux-gnu:icelake-server", "aarch64-linux-gnu:neoverse-n1"


def lookups(lanes: int) -> Statement:
    """out[i] = t[x[i]]"""

    def element(i: Scalar) -> Scalar:
        return TABLE[cast(reinterpret(X[i], "uint8"), INDEX)]

    return elementwise(OUT, lanes, COUNT, element)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("lanes", [0, 4, 16, 64, 128])
def test_every_byte_finds_its_own(lanes, target) -> None:
    table = np.random.default_rng(1).permutation(256).astype(np.uint8).view(np.int8)
    x = np.arange(COUNT).astype(np.uint8)
    arrays = {X: x.view(np.int8), TABLE: table, OUT: np.zeros(COUNT, np.int8)}
    found = run_native(lookups(lanes), arrays, target)[OUT]
    np.testing.assert_array_equal(found, table[x])


def assembly(name: str, lanes: int) -> str:
    target, body = parse_target(name), lookups(lanes)
    kernel = Kernel("kernel", (X, TABLE, OUT), (X, TABLE, OUT), body)
    initialize_llvm()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3
    )
    with parsed_module(module_text([kernel], target)) as module:
        return str(machine.emit_assembly(module))


@pytest.mark.parametrize(
    ("name", "lanes", "instruction"),
    [
        ("x86_64-linux-gnu:icelake-server", 64, "vperm"),
        ("x86_64-linux-gnu:icelake-server", 16, "vperm"),
        ("aarch64-linux-gnu:neoverse-n1", 16, "tbl"),
    ],
)
def test_registers_hold_the_table(name: str, lanes: int, instruction: str) -> None:
    text = assembly(name, lanes)
    assert instruction in text


@pytest.mark.parametrize(
    ("name", "has"),
    [
        *((name, True) for name in LOOKING_UP),
        ("x86_64-linux-gnu:haswell", False),
        ("x86_64-linux-gnu:skylake-avx512", False),
        ("riscv64-linux-gnu", False),
    ],
)
def test_which_machines_have_such_tables(name: str, has: bool) -> None:
    assert parse_target(name).machine.looks_up_bytes is has
