"""The steps of sums that are written out: which of them compilers may mix."""

from __future__ import annotations

import json

import pytest

import relay_tune as rt
from relay_tune.building.primitives import primitives_of, write_primitive
from relay_tune.building.program_form import fused_module, kernel_functions
from relay_tune.codegen.target import parse_target
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.loops_text import kernel_text

WINDOWS = """
def @main(%x: Tensor[(1, 6, 6, 8), float32], %w: Tensor[(3, 3, 8, 1), float32]) {
  nn.conv2d(%x, %w, groups=8, channels=8, data_layout="NHWC", kernel_layout="HWOI")
}
"""
PRODUCT = """
def @main(%x: Tensor[(4, 9), float32], %w: Tensor[(8, 9), float32]) { nn.dense(%x, %w) }
"""


def code(text: str, unroll: int) -> tuple[str, str]:
    """The loops and the LLVM text of the last nest of a program's only kernel."""
    target = parse_target("x86_64-linux-gnu:haswell")
    module = fused_module(rt.infer_types(rt.parse(text)), target=target)
    (primitive,) = primitives_of(kernel_functions(module)).values()
    plan = plan_program(primitive.program)
    default = plan.default_schedule(target.machine, 1)
    choices = json.loads(default.to_json())
    choices["nests"][-1]["unroll"] = unroll
    nests = plan.with_algorithm(default.algorithm).nests
    schedule = Schedule.from_json(json.dumps(choices), nests)
    written = write_primitive(primitive, target, 1, lambda *_: schedule)
    return "\n".join(map(kernel_text, written.scheduled.kernels)), written.text


@pytest.mark.parametrize(
    ("text", "unroll", "is_in_order"),
    [(WINDOWS, 9, True), (WINDOWS, 3, False), (WINDOWS, 1, False), (PRODUCT, 9, False)],
)
def test_rows_of_a_window_that_is_written_out_follow_each_other(
    text: str, unroll: int, is_in_order: bool
) -> None:
    """Else compilers finish one sum after the other, with all others' operands on the stack."""
    loops, llvm = code(text, unroll)
    assert ("unrolled in order" in loops) is is_in_order
    assert ("fence syncscope" in llvm) is is_in_order
