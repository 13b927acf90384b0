"""What one branch needs is computed there: native code beside the interpreter."""

import pytest

from relay_tune.building.build import build
from relay_tune.building.program_form import fused_module
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_call, static_shape
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types
from tests.building.open_programs import check, floats

GATES = """
def @main(%w: Tensor[(512, 256), float32], %k: int32, %x: Tensor[(1, 256), float32]) {
  let %gates = split(nn.dense(%x, %w), indices_or_sections=4, axis=1);
  let %scaled = fn (%s: float32) { %gates.3 * %s };
  if (%k < 0) { sigmoid(%gates.0) } else {
    if (%k < 5) { %scaled(2f) + %gates.1 } else {
      let %more = fn (%n: int32, %a: Tensor[(1, 128), float32]) -> Tensor[(1, 128), float32] {
        if (%n == 0) { %a } else { %more(%n - 1, %a + %scaled(0.5f)) }
      };
      %more(%k, %gates.2)
    }
  }
}
"""
WEIGHTS = floats(512, 256)


@pytest.mark.parametrize("k", [-1, 2, 7])
def test_gates_of_one_product_in_several_branches(k: int) -> None:
    module = parse(GATES)
    bound = BindParameters({"w": WEIGHTS})(module)
    check(bound, build(bound, threads=1), k, floats(1, 256))


def test_each_branch_has_the_columns_that_it_needs() -> None:
    module = parse(GATES)
    bound = infer_types(BindParameters({"w": WEIGHTS})(module))
    calls = [operator_call(node, "nn.dense") for node in post_order(fused_module(bound).main)]
    shapes = [static_shape(call) for call in calls if call is not None]
    assert sorted(shape[1] for shape in shapes if shape is not None) == [128, 128, 128, 128]
