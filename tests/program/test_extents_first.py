"""Extents of inputs run first, whatever they are for."""

from relay_tune.building.program_form import fused_module, program_regions
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.expr import Call
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.program.lower_program import lower_program
from relay_tune.program.region import KernelRun
from relay_tune.typing.infer import infer_types

TEXT = """
def @main(%t: Tensor[(10, 4), float32], %i: Tensor[(3), int64], %j: Tensor[(3), int64]) {
  let %a = take(%t, %i, axis=0, mode="raise");
  let %b = take(%t, %j, axis=0, mode="raise");
  let %found = cast(sum(%b, axis=[1]), dtype="int64");
  (%a, take(%t, %found, axis=0, mode="raise"))
}
"""


def is_extent(step: KernelRun) -> bool:
    callees = (node.callee for node in post_order(step.function.body) if isinstance(node, Call))
    return any(isinstance(callee, Operator) and callee.name == "index_extent" for callee in callees)


def test_extents_of_inputs_come_first() -> None:
    (region,) = program_regions(lower_program(fused_module(infer_types(parse(TEXT)))))
    assert [is_extent(run) for run in region.runs[:2]] == [True, True]
    late = next(run for run in region.runs[2:] if is_extent(run))  # it waits for its indices
    assert sum(is_extent(run) for run in region.runs) == 3
    before = region.runs[: region.runs.index(late)]
    assert set(late.inputs) <= {buffer for run in before for buffer in run.outputs}
