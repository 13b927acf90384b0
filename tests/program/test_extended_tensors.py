"""Concatenations in place: which, and that nothing else that refers to the tensor changes."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.program_form import program_module
from relay_tune.ir.parser.parse import parse
from relay_tune.program.instructions import ExtendTensor
from relay_tune.program.lower_program import lower_program
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types
from tests.properties.programs.compare import assert_same_value

ROWS = "Tensor[(?, 3), float32]"
LOOP = """
def @grow(%i: int32, %a: ROWS, %x: Tensor[(1, 3), float32]) -> ROWS {
  if (%i < 1) { %a } else { STEP }
}
def @main(%n: int32, %a: ROWS, %x: Tensor[(1, 3), float32]) { RESULT }
"""


def loop(step: str, result: str = "@grow(%n, %a, %x)") -> str:
    return LOOP.replace("STEP", step).replace("RESULT", result).replace("ROWS", ROWS)


def extensions(text: str) -> int:
    program = lower_program(program_module(infer_types(parse(text))))
    blocks = (block for function in program.functions.values() for block in function.blocks)
    return sum(isinstance(each, ExtendTensor) for block in blocks for each in block.instructions)


NEXT = "@grow(%i - 1, concatenate((%a, tanh(%x)), axis=0), %x * 0.9f)"
CASES = [
    (loop(NEXT), 1),
    (loop("@grow(%i - 1, concatenate((%a, %x, exp(%x)), axis=0), %x * 0.9f)"), 1),
    # what was there before the loop is still needed
    (loop(NEXT, "let %b = nn.relu(%a); (@grow(%n, %b, %x), @grow(%n, %b, %x * 2f), %b)"), 1),
    # every step is kept
    (loop("concatenate((%a, @grow(%i - 1, concatenate((%a, %x)), %x)), axis=0)"), 2),
    # twice the same tensor, and rows before it
    (loop("@grow(%i - 4, concatenate((%a, %a), axis=0), %x)"), 0),
    (loop("@grow(%i - 1, concatenate((%x, %a), axis=0), %x)"), 0),
    # an input of the entry is read where it is
    (loop("%a", "concatenate((%a, %x), axis=0)"), 0),
]


@pytest.mark.parametrize(("text", "wanted"), CASES)
def test_rows_come_behind_what_nothing_else_needs(text: str, wanted: int) -> None:
    assert extensions(text) == wanted
    module = parse(text)
    model = build(module, threads=1)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 3)).astype("float32")
    for n, rows in ((0, 2), (1, 0), (4, 1), (9, 3)):
        a = rng.standard_normal((rows, 3)).astype("float32")
        assert_same_value(model(n, a, x), interpret(module, n, a, x))


def test_rows_in_lists_keep_their_values() -> None:
    text = f"""
    type List[A] {{ Cons(A, List[A]), Nil, }}
    def @grow(%i: int32, %a: {ROWS}, %x: Tensor[(1, 3), float32], %l: List[{ROWS}])
        -> List[{ROWS}] {{
      if (%i < 1) {{ Cons(%a, %l) }}
      else {{ @grow(%i - 1, concatenate((%a, %x), axis=0), %x * 2f, Cons(%a, %l)) }}
    }}
    def @main(%n: int32, %a: {ROWS}, %x: Tensor[(1, 3), float32]) {{ @grow(%n, %a, %x, Nil) }}
    """
    assert extensions(text) == 1
    module = parse(text)
    a, x = np.ones((2, 3), "float32"), np.full((1, 3), 0.5, "float32")
    assert_same_value(build(module, threads=1)(7, a, x), interpret(module, 7, a, x))


def test_other_sizes_are_no_rows_behind() -> None:
    for shape, axis in (("2, ?", 1), ("?, ?, 3", 1), ("1, ?, 3", 1), ("?, ?", 0)):
        type_ = f"Tensor[({shape}), float32]"
        text = f"""
        def @f(%i: int32, %a: {type_}, %b: {type_}) -> {type_} {{
          if (%i < 1) {{ %a }} else {{ @f(%i - 1, concatenate((%a, %b), axis={axis}), %b) }}
        }}
        def @main(%i: int32, %a: {type_}, %b: {type_}) {{ @f(%i, %a, %b) }}"""
        assert extensions(text) == (shape == "1, ?, 3")
