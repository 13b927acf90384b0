"""Which kernels of a program run together, and what stays around them."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.program_form import program_module
from relay_tune.errors import RelayError
from relay_tune.ir.parser.parse import parse
from relay_tune.program.instructions import RunRegion
from relay_tune.program.lower_program import lower_program
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types
from tests.properties.programs.compare import assert_same_value

X = "Tensor[(4, 6), float32]"
CASES = {
    "kernels around a reshape are one region": (
        f"%x: {X}, %n: int32",
        "if (%n < 1) { %x } else { reshape(nn.softmax(reshape(nn.softmax(%x), newshape=[6, 4])), "
        "newshape=[4, 6]) }",
        ["ComputeScalars", "RunRegion 2"],
    ),
    "a number between kernels is computed in the region": (
        f"%x: {X}, %n: int32",
        "if (%n < 1) { %x } else { let %s = sum(%x) + 1f; nn.softmax(%x) * reshape(%s * %s, "
        "newshape=[1, 1]) + nn.log_softmax(%x) }",
        ["ComputeScalars", "RunRegion 3"],
    ),
    "a number after the kernels is computed in registers": (
        f"%x: {X}, %n: int32",
        "if (%n < 1) { (0f, 0f) } else { let %s = sum(nn.softmax(%x)); (%s, %s * (%s + 1f)) }",
        ["ComputeScalars", "RunRegion 2", "ComputeScalars"],
    ),
    "one kernel alone is one": (
        f"%x: {X}, %n: int32",
        "if (%n < 1) { %x } else { nn.softmax(%x) }",
        ["ComputeScalars", "RunRegion 1"],
    ),
    "kernels of sizes of the run are one, too": (
        "%x: Tensor[(?, 6), float32], %n: int32",
        "if (%n < 1) { nn.relu(%x) } else { nn.softmax(reshape(nn.softmax(%x), newshape=[-1, 6]) "
        "+ nn.softmax(%x)) }",
        ["ComputeScalars", "RunRegion 1", "RunRegion 2"],
    ),
    "a kernel that does something else where a size is 1 is by itself": (
        "%x: Tensor[(?, 6), float32], %y: Tensor[(?, 6), float32], %n: int32",
        "if (%n < 1) { %x } else { nn.softmax(nn.softmax(%x) + %y) }",
        ["ComputeScalars", "RunRegion 1", "RunRegion 1"],
    ),
    "so is one that finds sizes from elements": (
        "%x: Tensor[(?, 6), float32], %n: int32",
        "if (%n < 1) { argwhere(%x) } else { nn.relu(argwhere(nn.softmax(%x))) }",
        ["ComputeScalars", "RunRegion 1", "RunRegion 1", "RunRegion 1", "RunRegion 1"],
    ),
    "calls part the kernels before them from those after": (
        f"%x: {X}, %n: int32",
        "let %f = fn (%i: int32, %y: " + X + ") -> " + X + " { if (%i < 1) { %y } else { "
        "let %z = nn.softmax(nn.log_softmax(%y)); nn.softmax(%f(%i - 1, nn.log_softmax(%z)) + %z)"
        " } }; %f(%n, %x)",
        ["ComputeScalars", "ComputeScalars", "RunRegion 3", "CallFunction", "RunRegion 1"],
    ),
}
COUNTS = ("Retain", "Release", "LoadConstant")


def kinds(text: str) -> list[str]:
    """The instructions of a program, but for constants and counts of references."""
    program = lower_program(program_module(infer_types(parse(text))))
    found = []
    for function in program.functions.values():
        for instruction in (i for block in function.blocks for i in block.instructions):
            size = f" {len(instruction.region.runs)}" if isinstance(instruction, RunRegion) else ""
            found.append(type(instruction).__name__ + size)
    return [kind for kind in found if kind not in COUNTS]


@pytest.mark.parametrize("name", CASES)
def test_kernels_of_a_block_run_together(name: str) -> None:
    parameters, body, wanted = CASES[name]
    text = f"def @main({parameters}) {{ {body} }}"
    assert kinds(text) == wanted
    x = np.random.default_rng(0).standard_normal((4, 6)).astype("float32")
    given = (x,) * parameters.count("Tensor")
    for n in (0, 2):
        value = build(parse(text), threads=2)(*given, n)
        assert_same_value(value, interpret(parse(text), *given, n))


def test_indices_are_checked_behind_the_kernels_of_their_region() -> None:
    text = (
        "def @main(%t: Tensor[(10, 6), float32], %i: Tensor[(4), int64], %n: int32) { if (%n < 1) "
        '{ zeros(shape=[4, 6], dtype="float32") } else { nn.softmax(take(%t, %i, axis=0, '
        'mode="raise")) } }'
    )
    assert kinds(text) == ["ComputeScalars", "RunRegion 3", "CheckIndices"]
    table = np.random.default_rng(0).standard_normal((10, 6)).astype("float32")
    model = build(parse(text), threads=1)
    good = np.array([0, 9, -10, 3])
    assert_same_value(model(table, good, 1), interpret(parse(text), table, good, 1))
    with pytest.raises(RelayError, match="10"):
        model(table, np.array([0, 10, 1, 2]), 1)
