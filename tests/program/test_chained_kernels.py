"""Which kernels of a loop need the result of the turn before."""

import numpy as np

from relay_tune.building.program_form import program_module
from relay_tune.ir.parser.parse import parse
from relay_tune.program.chained_kernels import is_chained
from relay_tune.program.instructions import RunKernel
from relay_tune.program.lower_program import ProgramLowering
from relay_tune.program.split_epilogue import is_worth_joining
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types

ROW, WEIGHTS = "Tensor[(1, 96), float32]", "Tensor[(96, 96), float32]"


def chained(state: str) -> list[bool]:
    """Of each product of a loop with a state `%s` and an input `%x`, whether it is chained."""
    text = f"""
def @main(%a: {ROW}, %w: {WEIGHTS}, %v: {WEIGHTS}) {{
  let %loop = fn (%n: int32, %s: {ROW}, %x: {ROW}) -> {ROW} {{
    if (%n == 9) {{ %s }} else {{ %loop(%n + 1, {state}, %x * 2f) }}
  }};
  %loop(0, %a, %a)
}}
"""
    weights = {name: np.full((96, 96), k, np.float32) for name, k in (("w", 1), ("v", 2))}
    lowering = ProgramLowering(program_module(infer_types(BindParameters(weights)(parse(text)))))
    lowering.known_global("main")
    lowering.finish()
    loop = lowering.functions["@main/loop"]
    runs = [each for block in loop.blocks for each in block.instructions]
    return [
        is_chained(run, loop)
        for run in runs
        if isinstance(run, RunKernel) and is_worth_joining(run.primitive)
    ]


def test_a_product_of_the_state_is_chained() -> None:
    assert chained("tanh(nn.dense(%s, %w))") == [True]
    assert chained("%x + nn.dense(%s, %w)") == [True]


def test_so_are_several_one_after_the_other() -> None:
    assert chained("tanh(nn.dense(tanh(nn.dense(%s, %w)), %v))") == [True, True]


def test_a_product_that_is_added_to_the_state_is_not() -> None:
    assert chained("%s + nn.dense(%x, %w)") == [False]


def test_of_two_branches_both_have_to_need_it() -> None:
    product = "let %p = tanh(nn.dense(%s, %w)); "
    assert chained(f"{product} if (%n < 5) {{ %p * 2f }} else {{ %p * %x }}") == [True]
    assert chained(f"{product} if (%n < 5) {{ %p * 2f }} else {{ %s }}") == [False]
