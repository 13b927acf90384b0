"""Which results of an entry are an input with rows appended, and who reads them."""

import pytest

from relay_tune.building.program_form import program_module
from relay_tune.ir.parser.parse import parse
from relay_tune.op.spaced_inputs import spaced_inputs
from relay_tune.program.instructions import AppendRows, RunRegion
from relay_tune.program.lower_program import lower_program
from relay_tune.program.program import FirstOrderProgram
from relay_tune.program.size_naming import SizeSource
from relay_tune.typing.infer import infer_types

PARAMETERS = "%x: Tensor[(1, 4), float32], %c: Tensor[(n, 4), float32]"


def lowered(body: str, parameters: str = PARAMETERS) -> FirstOrderProgram:
    module = parse(f"def @main({parameters}) {{ {body} }}")
    return lower_program(program_module(infer_types(module)))


CASES = [
    ("concatenate((%c, %x), axis=0)", [(0, 1, 0)]),
    ("concatenate((%c, exp(%x), %x), axis=0)", [(0, 1, 0)]),
    ("let %a = concatenate((%c, %x), axis=0); (nn.softmax(%a), %a)", [(1, 1, 0)]),
    ("concatenate((%x, %c), axis=0)", []),
    ("exp(concatenate((%c, %x), axis=0))", []),
    ("concatenate((%c, %c, %x), axis=0)", []),
    ("let %a = concatenate((%c, %x), axis=0); (%a, %a)", []),
    ("let %a = concatenate((%c, %x), axis=0); (%a, reshape(%a, newshape=[-1]))", []),
    ("let %a = concatenate((%c, %x), axis=0); (%a, reshape(%a, newshape=[-1, 2, 2]))", []),
    ("let %a = concatenate((%c, %x)); (%a, nn.softmax(reshape(%a, newshape=[-1])))", []),
    (
        "let %a = concatenate((%c, %x)); let %b = reshape(%a, newshape=[1, -1, 2, 2]);"
        "(%a, nn.softmax(%b), nn.softmax(reshape(%b, newshape=[2, -1])))",
        [],
    ),
    (
        "let %a = concatenate((%c, %x)); let %b = reshape(%a, newshape=[1, -1, 2, 2]);"
        "(%a, nn.softmax(%b), sum(reshape(%b, newshape=[-1, 4, 1]), axis=[0]))",
        [(0, 1, 0)],
    ),
    ("(concatenate((%c, %x), axis=0), nn.softmax(%c))", []),
    ("(concatenate((%c, %x), axis=0), %c)", []),
]


@pytest.mark.parametrize(("body", "wanted"), CASES)
def test_what_is_appended(body: str, wanted: list[tuple[int, int, int]]) -> None:
    program = lowered(body)
    appended = program.entry.appended
    assert [(each.output, each.input, each.axis) for each in appended] == wanted
    (block,) = program.functions[program.entry.function].blocks
    count = sum(isinstance(each, AppendRows) for each in block.instructions)
    assert count == len(wanted)


def test_readers_of_a_result_take_its_distances() -> None:
    program = lowered("let %a = concatenate((%c, %x), axis=0); (%a, nn.softmax(%a), exp(%x))")
    (block,) = program.functions[program.entry.function].blocks
    (region,) = (each.region for each in block.instructions if isinstance(each, RunRegion))
    kernels = [run.function for run in region.runs]
    assert sorted(list(spaced_inputs(kernel).items()) for kernel in kernels) == [[], [(0, 0)]]
    # the axis behind the last one of the result is its room
    rank, appended = 2, region.inputs.index(region.runs[0].inputs[0])
    assert SizeSource(appended, rank) in region.symbols.values()


def test_tensors_of_too_many_axes_and_those_that_others_call_are_not() -> None:
    wide = "%c: Tensor[(1, 1, 1, 1, n, 2), float32], %x: Tensor[(1, 1, 1, 1, 1, 2), float32]"
    assert not lowered("concatenate((%c, %x), axis=4)", wide).entry.appended
    both = "if (sum(%x) < 1f) { concatenate((%c, %x), axis=0) } else { concatenate((%c, -%x)) }"
    assert not lowered(both).entry.appended
