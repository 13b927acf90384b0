"""Which results could lie in the memory of an input, as far as the program goes."""

import pytest

from relay_tune.building.program_form import fused_module
from relay_tune.ir.parser.parse import parse
from relay_tune.program.in_place_outputs import (
    possible_in_place,
    possible_reuses,
    possible_sharing,
)
from relay_tune.program.instructions import RunRegion
from relay_tune.program.lower_program import lower_program
from relay_tune.program.region import Buffer, Part, Region
from relay_tune.typing.infer import infer_types

KIND = "Tensor[(8, 8), float32]"


@pytest.mark.parametrize(
    ("body", "pairs"),
    [
        ("%x + exp(%y)", {(0, 0), (0, 1)}),
        ("(nn.dense(%x, %y), exp(%x))", {(0, 1)}),
        ("(exp(%x), %x, %y)", set()),
        ("(exp(%x), exp(%y), %x)", {(1, 1)}),
        ("let %z = exp(%x); (%z, nn.dense(%z, %y))", {(0, 0), (1, 1)}),
        ('cast(%x + %y, dtype="float64")', set()),
        ("reshape(%x + %y, newshape=[64])", set()),
        ("if (less(sum(%y), 0f)) { exp(%x) } else { %x + %y }", set()),
    ],
)
def test_pairs(body: str, pairs: set[tuple[int, int]]) -> None:
    module = infer_types(parse(f"def @main(%x: {KIND}, %y: {KIND}) {{ {body} }}"))
    found = possible_in_place(lower_program(fused_module(module)))
    assert {(each.pair.output, each.pair.input) for each in found} == pairs


def test_runs_are_looked_at_once_however_many_pairs_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A step of a network with 364 parameters was built for minutes."""
    names = [f"%p{n}" for n in range(24)]
    params = ", ".join(f"{name}: {KIND}" for name in ("%x", *names))
    body = ", ".join(f"nn.dense(%x, {name}) - {name} * 2f" for name in names)
    module = infer_types(parse(f"def @main({params}) {{ ({body}) }}"))
    program = lower_program(fused_module(module))
    located, looked = Region.located, []

    def counted(region: Region, buffer: Buffer) -> Part:
        looked.append(buffer)
        return located(region, buffer)

    monkeypatch.setattr(Region, "located", counted)
    found = [*possible_in_place(program), *possible_reuses(program)]
    steps = list(program.outer_function.blocks[0].instructions)
    regions = [each.region for each in steps if isinstance(each, RunRegion)]
    uses = sum(len(run.inputs) + len(run.outputs) for each in regions for run in each.runs)
    assert len(looked) == 2 * uses
    assert len(found) == len(names)


LOOP = f"""
def @main(%x: {KIND}, %y: {KIND}, %n: int32) {{
  let %f = fn (%i: int32, %s: {KIND}) -> {KIND} {{
    if (%i < 1) {{ %s }} else {{ BODY }}
  }};
  %f(%n, exp(%y))
}}
"""


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("%f(%i - 1, %s * 2f + %x)", 1),
        ("%f(%i - 1, %s + nn.dense(%x, %x))", 1),
        ("%f(%i - 1, nn.dense(%s, %x))", 1),  # whether the kernel allows it is another question
        ("let %t = exp(%s); %f(%i - 1, nn.dense(%t, %s))", 0),
        ("%f(%i - 1, %x * 2f)", 0),
        ("%f(%i - 1, %s * 2f) + %s", 2),  # the sum may be either of its operands
    ],
)
def test_objects_that_end_may_be_results(body: str, count: int) -> None:
    module = infer_types(parse(LOOP.replace("BODY", body)))
    program = lower_program(fused_module(module))
    assert len(list(possible_reuses(program))) == count


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("exp(nn.dense(%x, %y))", 0),  # one kernel
        ("nn.dense(nn.dense(%x, %y), %y)", 1),  # a result in the place of what it is computed from
        ("nn.dense(nn.dense(%x, %x) + nn.dense(%x, %y), %y)", 2),  # the sum, too
        ("let %t = nn.dense(%x, %y); nn.dense(nn.dense(%t, %x) + %t, %y)", 2),
    ],
)
def test_tensors_between_kernels_may_share_memory_where_it_is_limited(
    body: str, count: int
) -> None:
    module = infer_types(parse(f"def @main(%x: {KIND}, %y: {KIND}) {{ {body} }}"))
    program = lower_program(fused_module(module))
    first = list(possible_sharing(program))
    assert len(list(possible_sharing(program, is_limited=True))) == len(first) + count
