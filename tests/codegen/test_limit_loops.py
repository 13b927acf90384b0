from __future__ import annotations

import pytest

from relay_tune.codegen.arithmetic_loops import arithmetic_loops, arithmetic_text
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.limit_loops import can_flush, flushing_text, peak_text, reading_text
from relay_tune.codegen.target import parse_target
from relay_tune.targets.x86.amx.description import ROW_BYTES
from relay_tune.targets.x86.amx.peak import peak_of

TARGETS = [
    "aarch64-linux-gnu:neoverse-n1:+dotprod",
    "aarch64-apple-darwin:apple-m1",
    "x86_64-linux-gnu:haswell",
    "x86_64-linux-gnu:sapphirerapids:+clflushopt,+avx512vnni,+avx512bf16",
    "riscv64-linux-gnu",
]


@pytest.mark.parametrize("name", TARGETS)
def test_the_loops_compile(name: str) -> None:
    target = parse_target(name)
    texts = [arithmetic_text(loop, target) for loop in arithmetic_loops(target)]
    texts += [flushing_text(target)] if can_flush(target) else []
    texts += [peak_text(each.peak, target) for each in target.intrinsics]
    for text in (*texts, reading_text(target)):
        assert compile_text(text, target)


@pytest.mark.parametrize(
    ("name", "dtypes"),
    [
        (TARGETS[0], ["float32", "int8"]),
        (TARGETS[2], ["float32", "int16", "int8"]),
        (TARGETS[3], ["float32", "bfloat16", "int8", "int16"]),
    ],
)
def test_loops_are_those_that_the_processor_has_instructions_for(
    name: str, dtypes: list[str]
) -> None:
    loops = arithmetic_loops(parse_target(name))
    assert [loop.dtype for loop in loops] == dtypes


def test_a_step_of_matrix_registers_reads_all_operands() -> None:
    peak = peak_of("tdpbf16ps")
    text = peak_text(peak, parse_target(TARGETS[3]))
    assert text.count("call void @llvm.x86.tdpbf16ps") == peak.calls
    assert text.count("call void @llvm.x86.tileloadd64") * 16 * ROW_BYTES == peak.operand_bytes
