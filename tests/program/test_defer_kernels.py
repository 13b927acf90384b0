"""Which programs let kernels wait."""

import numpy as np
import pytest

from relay_tune.building.program_form import program_kernels, program_module
from relay_tune.ir.parser.parse import parse
from relay_tune.program.defer_kernels import BATCH_ROWS
from relay_tune.program.instructions import DeferKernel, Instruction, RunRegion
from relay_tune.program.lower_program import lower_program
from relay_tune.program.program import FirstOrderProgram
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types

TREE = "type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]), }\n"
ROW = "Tensor[(1, 96), float32]"
ENCODE = f"""
def @encode(%t: Tree[{ROW}], %w: Tensor[(96, 96), float32]) -> {ROW} {{
  match (%t) {{
    Leaf(%x) => nn.dense(%x, %w),
    Node(%l, %r) => tanh(nn.dense(@encode(%l, %w), %w) + @encode(%r, %w)),
  }}
}}
"""


def lowered(text: str, size: int = 96) -> FirstOrderProgram:
    text = text.replace("96", str(size))
    weights = {"w": np.ones((size, size), np.float32)}
    typed = infer_types(BindParameters(weights)(parse(TREE + text)))
    return lower_program(program_module(typed))


def kernels(program: FirstOrderProgram, kind: type[Instruction]) -> list[str]:
    """The functions that have kernels of exactly this kind, once for each."""
    return sorted(
        name
        for name, function in program.functions.items()
        for block in function.blocks
        for instruction in block.instructions
        if type(instruction) is kind
    )


MAIN = f"def @main(%t: Tree[{ROW}], %w: Tensor[(96, 96), float32]) {{ @encode(%t, %w) }}\n"


def test_a_recursion_over_a_tree_lets_its_kernels_wait() -> None:
    program = lowered(ENCODE + MAIN)
    # two products, the second of which is split from what also reads the other branch
    assert kernels(program, DeferKernel) == ["@encode"] * 3
    assert kernels(program, RunRegion) == []
    assert [tuple(batches) for batches in program.batches.values()] == [BATCH_ROWS, BATCH_ROWS]
    found = list(program_kernels(program))
    assert all(batched in found for b in program.batches.values() for batched in b.values())
    assert not any(primitive in found for primitive in program.batches)


def test_small_weights_are_not_waited_for() -> None:
    program = lowered(ENCODE + MAIN, size=16)
    assert program.batches == {}
    assert kernels(program, DeferKernel) == []


def test_a_loop_that_looks_at_elements_runs_its_kernels_at_once() -> None:
    text = f"""
def @main(%x: {ROW}, %w: Tensor[(96, 96), float32]) {{
  let %loop = fn (%s: {ROW}) -> {ROW} {{
    let %next = nn.dense(%s, %w);
    if (sum(%next) < 1f) {{ %next }} else {{ %loop(%next) }}
  }};
  %loop(%x)
}}
"""
    program = lowered(text)
    assert program.batches == {}
    assert "@main/loop" in kernels(program, RunRegion)


def test_only_the_recursion_that_looks_does_not_wait() -> None:
    text = f"""
def @main(%t: Tree[{ROW}], %w: Tensor[(96, 96), float32]) {{
  let %loop = fn (%s: {ROW}) -> {ROW} {{
    let %next = nn.dense(%s, %w);
    if (sum(%next) < 1f) {{ %next }} else {{ %loop(%next) }}
  }};
  %loop(@encode(%t, %w))
}}
"""
    program = lowered(ENCODE + text)
    assert set(kernels(program, DeferKernel)) == {"@encode"}
    assert set(kernels(program, RunRegion)) == {"@main/loop"}


@pytest.mark.parametrize("turn", ["tanh(nn.dense(%s, %w))", "tanh(%x + nn.dense(%s, %w))"])
def test_a_loop_of_which_each_turn_needs_the_last_runs_its_kernels_at_once(turn: str) -> None:
    text = f"""
def @main(%x: {ROW}, %w: Tensor[(96, 96), float32]) {{
  let %loop = fn (%n: int32, %s: {ROW}) -> {ROW} {{
    if (%n == 9) {{ %s }} else {{ %loop(%n + 1, {turn}) }}
  }};
  %loop(0, %x)
}}
"""
    program = lowered(text)
    assert program.batches == {}
    assert "@main/loop" in kernels(program, RunRegion)


def test_a_loop_whose_turns_are_independent_lets_its_kernels_wait() -> None:
    text = f"""
def @main(%x: {ROW}, %w: Tensor[(96, 96), float32]) {{
  let %loop = fn (%n: int32, %s: {ROW}, %sum: {ROW}) -> {ROW} {{
    if (%n == 9) {{ %sum }} else {{ %loop(%n + 1, %s * 2f, %sum + nn.dense(%s, %w)) }}
  }};
  %loop(0, %x, %x)
}}
"""
    assert "@main/loop" in kernels(lowered(text), DeferKernel)


def test_a_loop_that_a_program_begins_twice_lets_its_kernels_wait() -> None:
    text = f"""
def @loop(%n: int32, %s: {ROW}, %w: Tensor[(96, 96), float32]) -> {ROW} {{
  if (%n == 9) {{ %s }} else {{ @loop(%n + 1, tanh(nn.dense(%s, %w)), %w) }}
}}

def @main(%x: {ROW}, %y: {ROW}, %w: Tensor[(96, 96), float32]) {{
  @loop(0, %x, %w) + @loop(0, %y, %w)
}}
"""
    assert "@loop" in kernels(lowered(text), DeferKernel)


def test_a_product_that_runs_twice_a_turn_waits() -> None:
    text = f"""
def @main(%x: {ROW}, %w: Tensor[(96, 96), float32]) {{
  let %loop = fn (%n: int32, %s: {ROW}, %r: {ROW}) -> {ROW} {{
    if (%n == 9) {{ %s }} else {{ %loop(%n + 1, nn.dense(%s, %w) + nn.dense(%r, %w), %s) }}
  }};
  %loop(0, %x, %x)
}}
"""
    assert "@main/loop" in kernels(lowered(text), DeferKernel)
