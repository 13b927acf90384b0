"""Which regions each run of a program passes once."""

import pytest

from relay_tune.building.program_form import program_module
from relay_tune.ir.parser.parse import parse
from relay_tune.program.lower_program import lower_program
from relay_tune.program.once_a_run import regions_once_a_run
from relay_tune.typing.infer import infer_types

X = "Tensor[(4, 6), float32]"
RECURSIVE = (
    f"let %f = fn (%i: int32, %y: {X}) -> {X} {{ if (%i < 1) {{ %y }} else {{ "
    "%f(%i - 1, nn.log_softmax(%y)) } }; "
)
CASES = {
    "all of a straight program": (
        "%x: Tensor[(?, 6), float32], %y: Tensor[(?, 6), float32]",
        "nn.softmax(nn.softmax(%x) + %y)",
        2,
    ),
    "none behind a branch": (
        f"%x: {X}, %n: int32",
        "let %y = nn.softmax(%x); if (%n < 1) { nn.relu(%y) } else { nn.log_softmax(%y) }",
        1,
    ),
    "none of a recursion": (f"%x: {X}, %n: int32", RECURSIVE + "nn.softmax(%f(%n, %x))", 1),
}


@pytest.mark.parametrize(("parameters", "body", "count"), CASES.values(), ids=CASES)
def test_regions_that_each_run_passes(parameters: str, body: str, count: int) -> None:
    typed = infer_types(parse(f"def @main({parameters}) {{ {body} }}"))
    program = lower_program(program_module(typed))
    assert len(regions_once_a_run(program)) == count
