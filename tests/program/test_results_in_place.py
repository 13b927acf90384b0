"""Which results of a program are written where the caller wants them."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.program_form import program_module
from relay_tune.ir.parser.parse import parse
from relay_tune.program.lower_program import lower_program
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types
from tests.properties.programs.compare import assert_same_value

X = "Tensor[(3, 4), float32]"
CASES = {
    "kernels of the entry write them": (f"%x: {X}, %n: int32", "(nn.relu(%x), exp(%x))", {0, 1}),
    "whatever way is taken": (
        f"%x: {X}, %n: int32",
        "if (%n < 1) { nn.softmax(%x) } else { nn.softmax(nn.relu(%x)) }",
        {0},
    ),
    "what a later kernel reads too": (
        f"%x: {X}, %n: int32",
        "let %y = nn.softmax(%x); if (%n < 1) { (%y, nn.relu(%y)) } else { (%y, exp(%y)) }",
        {0, 1},
    ),
    "not what another result takes the place of": (
        f"%x: {X}, %n: int32",
        "let %y = nn.softmax(%x); if (%n < 1) { %y } else { nn.softmax(exp(%y)) }",
        set(),
    ),
    "not what is returned twice": (
        f"%x: {X}, %n: int32",
        "let %y = nn.softmax(%x); (%y, %y, nn.log_softmax(%x))",
        {2},
    ),
    "not inputs": (f"%x: {X}, %n: int32", "(%x, nn.relu(%x))", {1}),
    "not what is in a value": (
        f"%x: {X}, %n: int32",
        "let %y = nn.softmax(%x); let %r = ref(%y); (%y, nn.relu(ref_read(%r)))",
        {1},
    ),
    "a shape of what a kernel computes": (
        f"%x: {X}, %n: int32",
        "reshape(nn.softmax(nn.log_softmax(%x)), newshape=[4, 3])",
        {0},
    ),
    "not two shapes of it": (
        f"%x: {X}, %n: int32",
        "let %y = nn.softmax(nn.log_softmax(%x)); (%y, reshape(%y, newshape=[4, 3]))",
        set(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_written_in_place(name: str) -> None:
    parameters, body, wanted = CASES[name]
    module = parse(f"def @main({parameters}) {{ {body} }}")
    program = lower_program(program_module(infer_types(module)))
    main = program.functions[program.entry.function]
    assert set(main.results_in_place.values()) == wanted
    model = build(module, threads=1)
    x = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
    for n in (0, 1):
        assert_same_value(model(x, n), interpret(module, x, n))


def test_what_calls_itself_writes_objects() -> None:
    module = parse(
        f"def @main(%x: {X}, %n: int32) -> {X} "
        "{ if (%n < 1) { nn.softmax(%x) } else { @main(%x * 2f, %n - 1) } }"
    )
    program = lower_program(program_module(infer_types(module)))
    assert not program.functions[program.entry.function].results_in_place


def test_known_results_of_a_program_with_dynamic_sizes() -> None:
    module = parse(
        "def @main(%x: Tensor[(n, 4), float32], %c: bool) "
        "{ if (%c) { sum(%x, axis=[0]) } else { sum(nn.relu(%x), axis=[0]) } }"
    )
    program = lower_program(program_module(infer_types(module)))
    assert program.functions[program.entry.function].results_in_place
    x = np.random.default_rng(0).standard_normal((5, 4)).astype("float32")
    for c in (True, False):
        assert_same_value(build(module, threads=1)(x, c), interpret(module, x, c))
