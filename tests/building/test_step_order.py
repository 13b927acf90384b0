"""Extents of inputs run first, whatever they are for."""

from relay_tune.building.network import network_of
from relay_tune.building.step_order import with_extents_first
from relay_tune.first_order.region import KernelRun
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.expr import Call
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.transform.pipeline import default_pipeline

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
    network = network_of(default_pipeline()(parse(TEXT)))
    steps = with_extents_first(network).region.runs
    extents = [step for step in network.region.runs if is_extent(step)]
    assert len(extents) == 3 and network.region.runs[:2] != tuple(extents[:2])
    others = [step for step in network.region.runs if step not in extents[:2]]
    assert steps == (*extents[:2], *others)  # the third has to wait for its indices
