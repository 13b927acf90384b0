"""Which inputs of a program are read where the caller has them."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.program_form import program_module
from relay_tune.ir.parser.parse import parse
from relay_tune.program.instructions import Release
from relay_tune.program.lower_program import lower_program
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types
from tests.properties.programs.compare import assert_same_value

OPEN, KNOWN = "Tensor[(?, 4), float32]", "Tensor[(3, 4), float32]"
CASES = [
    (f"%x: {OPEN}", "nn.relu(%x)", [True]),
    (f"%x: {KNOWN}, %n: int32", "if (%n < 1) { nn.relu(%x) } else { exp(%x) }", [True, False]),
    (f"%x: {OPEN}", "(%x, nn.relu(%x))", [False]),
    (f"%x: {OPEN}, %y: {OPEN}", "(nn.softmax(%x + %y), %y)", [True, False]),
    (f"%x: {OPEN}", "let %r = ref(%x); nn.relu(ref_read(%r))", [False]),
    (f"%p: ({OPEN}, {KNOWN}), %y: {OPEN}", "(tanh(%p.0), tanh(%p.1), %y * 2f)", [True] * 3),
    (
        f"%x: {OPEN}, %n: int32",
        "let %f = fn (%i: int32) -> Tensor[(?, 4), float32] "
        "{ if (%i < 1) { %x } else { tanh(%f(%i - 1)) } }; %f(%n)",
        [False, False],
    ),
    (
        f"%x: {KNOWN}, %y: {KNOWN}, %n: int32",
        f"let %f = fn (%i: int32, %s: {KNOWN}) -> {KNOWN} "
        "{ if (%i < 1) { %s } else { %f(%i - 1, %s + exp(%x)) } }; (%f(%n, %y), nn.relu(%x))",
        [True, False, False],
    ),
    (
        f"%x: {KNOWN}, %n: int32",
        f"let %f = fn (%i: int32, %s: {KNOWN}) -> {KNOWN} "
        "{ if (%i < 1) { %s } else { %f(%i - 1, tanh(%x)) } }; %f(%n, %x)",
        [False, False],
    ),
]


@pytest.mark.parametrize(("parameters", "body", "borrowed"), CASES)
def test_what_kernels_alone_read_is_borrowed(
    parameters: str, body: str, borrowed: list[bool]
) -> None:
    module = parse(f"def @main({parameters}) {{ {body} }}")
    program = lower_program(program_module(infer_types(module)))
    main = program.functions[program.entry.function]
    assert [parameter in main.borrowed_inputs for parameter in main.parameters] == borrowed
    released = {
        instruction.object
        for block in main.blocks
        for instruction in block.instructions
        if isinstance(instruction, Release)
    }
    assert main.borrowed_inputs.isdisjoint(released)


def test_what_calls_itself_is_lent_nothing() -> None:
    module = parse(
        f"def @main(%x: {KNOWN}, %n: int32) -> {KNOWN} "
        "{ if (%n < 1) { nn.relu(%x) } else { @main(%x * 2f, %n - 1) } }"
    )
    program = lower_program(program_module(infer_types(module)))
    assert not program.functions[program.entry.function].borrowed_inputs
    x = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
    assert_same_value(build(module, threads=1)(x, 3), interpret(module, x, 3))


@pytest.mark.parametrize("threads", [1, 2])
def test_arrays_of_any_alignment_and_order_are_read_in_place(threads: int) -> None:
    module = parse(f"def @main(%x: {OPEN}, %y: {OPEN}) {{ nn.softmax(%x) + exp(%y) }}")
    model = build(module, threads=threads)
    wide = np.random.default_rng(0).standard_normal((101, 9)).astype("float32")
    flat = wide.reshape(-1)
    for x in (wide[:, 1:5], flat[1:401].reshape(100, 4), wide.T[:4].T[::2], np.zeros((0, 4), "f")):
        before = x.copy()
        assert_same_value(model(x, x), interpret(module, x, x))
        np.testing.assert_array_equal(x, before)
