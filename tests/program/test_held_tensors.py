"""How many bytes functions hold while kernels run."""

import pytest

from relay_tune.building.in_place import with_in_place
from relay_tune.building.program_form import program_module
from relay_tune.ir.parser.parse import parse
from relay_tune.program.held_tensors import most_held
from relay_tune.program.in_place_outputs import PossibleReuse, possible_reuses
from relay_tune.program.lower_program import lower_program
from relay_tune.program.program import FirstOrderProgram
from relay_tune.typing.infer import infer_types

KIND = "Tensor[(8, 8), float32]"
BYTES = 8 * 8 * 4
LOOP = f"""
  let %f = fn (%i: int32, %s: {KIND}) -> {KIND} {{
    if (%i < 1) {{ %s }} else {{ %f(%i - 1, %s * 2f + %x) }}
  }};
"""
RECURSION = f"""
  let %f = fn (%i: int32, %s: {KIND}) -> {KIND} {{
    if (%i < 1) {{ nn.relu(%s) }} else {{ %f(%i - 1, exp(%s)) + %s }}
  }};
"""


def _program(body: str) -> FirstOrderProgram:
    module = parse(f"def @main(%x: {KIND}, %n: int32) {{ {body} }}")
    return lower_program(program_module(infer_types(module)))


@pytest.mark.parametrize(
    ("body", "tensors"),
    [
        ("nn.dense(exp(%x), %x)", 0),  # what a region plans, and a result of the caller's
        ("let %y = nn.softmax(%x); if (%n < 1) { nn.relu(%y) } else { tanh(%y) }", 1),
        (LOOP + "%f(%n, exp(%x))", 2),  # what the loop was given, and what it passes on
        (LOOP + "let %y = exp(%x); nn.dense(%f(%n, %y), %y)", 3),  # %y waits for the loop
        (RECURSION + "%f(%n, exp(%x))", 3),  # of the waiting calls one counts
    ],
)
def test_what_is_held(body: str, tensors: int) -> None:
    assert most_held(_program(body)) == tensors * BYTES


def test_what_is_added_up_in_place_is_held_once() -> None:
    program = _program(LOOP + "%f(%n, exp(%x))")
    reuses = list(possible_reuses(program))
    allowed = {each.sharing.function: frozenset([_pair(each)]) for each in reuses}
    assert most_held(with_in_place(program, (), reuses, allowed)) == BYTES


def _pair(reuse: PossibleReuse) -> tuple[int, int]:
    sharing = reuse.sharing
    return sharing.read, sharing.written
