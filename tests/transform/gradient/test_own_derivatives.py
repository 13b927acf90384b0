"""Functions with rules of their own in Relay text: closures, data, passes, refusals."""

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import BuildError, RelayError
from relay_tune.transform.catalogue import STANDARD
from relay_tune.transform.language.a_normal_form import ToANormalForm
from relay_tune.transform.language.eta_expand import EtaExpand
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.language.inline import Inline
from relay_tune.transform.language.inline_local import InlineLocal
from relay_tune.transform.language.lambda_lift import LambdaLift
from relay_tune.transform.language.partial_evaluate import PartialEvaluate
from relay_tune.transform.language.specialize import Specialize

RULED = """
def @twice(%h: fn (float32) -> float32, %x: float32) { %h(%h(%x)) }
def @f(%x: float32) { round(%x) }
def @forward(%x: float32) { (round(%x), %x) }
def @backward(%x: float32, %d: float32) { %d * %x }
def @g(%x: float32) -> float32 {
  let %h = custom_vjp(@f, @forward, @backward);
  let %k = fn (%y: float32) { %h(%y) * %x };
  @twice(%k, %x) + %h(%x)
}
def @main(%x: float32) { grad(@g)(%x) }
"""
SURVIVED = (
    Specialize(), ToANormalForm(), ToGraphNormalForm(), EtaExpand(), Inline(maximum_size=1000),
    InlineLocal(), LambdaLift(), PartialEvaluate(),
    *(STANDARD[name]() for name in (
        "eliminate_dead_code", "eliminate_common_subexpressions", "fold_constants",
        "simplify_expression", "simplify_inference", "hoist_invariants",
    )),
)  # fmt: skip


@pytest.fixture
def module() -> rt.Module:
    return rt.infer_types(rt.parse(RULED))


def _by_hand(x: float) -> float:
    """y = round(x) x; z = round(y) x; the derivative of round is its argument."""
    y = round(x) * x
    return (y * (x * x + round(x))) * x + round(y) + x


def test_closures_that_call_a_function_with_a_rule(module):
    for found in (rt.interpret(module, 1.7), rt.build(module, threads=1)(np.float32(1.7))):
        assert found[1][0] == pytest.approx(_by_hand(1.7), rel=1e-5)


def test_the_text_and_the_json_of_a_rule(module):
    text = module.astext()
    assert "custom_vjp(@f, @forward, @backward)" in text
    assert rt.structural_equal(rt.infer_types(rt.parse(text)), module)
    assert rt.structural_equal(rt.infer_types(rt.from_json(rt.to_json(module))), module)


@pytest.mark.parametrize("step", SURVIVED, ids=lambda step: step.name)
def test_passes_keep_the_rule_while_a_derivative_is_to_be_taken(module, step):
    changed = rt.infer_types(step(module))
    assert "custom_vjp" in changed.astext()
    assert rt.interpret(changed, 1.7)[1][0] == pytest.approx(_by_hand(1.7), rel=1e-5)


def test_without_derivatives_a_rule_is_nothing(after):
    made = after(RULED.replace("grad(@g)(%x)", "@g(%x)"))
    assert "custom_vjp" not in made.astext() and "backward" not in made.astext()


@pytest.mark.parametrize("depth", [1, 6])
def test_in_a_recursion_over_tuples_and_data(after, depth):
    made = after(
        """
        type Pair { Both(float64, int32) }
        def @f(%p: (float64, Pair)) {
          match (%p.1) { Both(%y, %n) => (%p.0 * %y, Both(%y + %p.0, %n)) }
        }
        def @rule(%p: (float64, Pair)) { (@f(%p), %p) }
        def @back(%p: (float64, Pair), %d: (float64, Pair)) {
          match (%p.1) {
            Both(%y, %n) => {
              match (%d.1) {
                Both(%e, %m) => ((2.0f64 * (%d.0 * %y + %e), Both(%d.0 * %p.0 + %e, %m)),)
              }
            }
          }
        }
        def @loop(%p: (float64, Pair), %n: int32) -> float64 {
          if (%n == 0) { %p.0 } else { @loop(custom_vjp(@f, @rule, @back)(%p), %n - 1) }
        }
        def @g(%x: float64, %n: int32) -> float64 { @loop((%x, Both(%x, 1)), %n) }
        def @main(%x: float64, %n: int32) { grad(@g, wrt=[0])(%x, %n) }
        """
    )
    states = [(1.1, 1.1)]
    for _ in range(depth):
        x, y = states[-1]
        states.append((x * y, x + y))
    d, e = 1.0, 0.0
    for x, y in reversed(states[:-1]):
        d, e = 2 * (d * y + e), d * x + e
    inputs = np.float64(1.1), np.int32(depth)
    for value, (slope,) in (rt.interpret(made, *inputs), rt.build(made, threads=1)(*inputs)):
        assert value == pytest.approx(states[-1][0])
        assert slope == pytest.approx(d + e)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("fn (%x: float32) { %x }, @backward", "which is no pair"),
        ("fn (%x: int32) { (%x, %x) }, @backward", "has int32 where a parameter"),
        ("@forward, fn (%x: float32) { %x }", "backward takes 1 parameter"),
        ("@forward, fn (%x: float32, %d: float32) { (%d, %d) }", r"the adjoints are \(float32,\)"),
        ("@forward, fn (%x: int32, %d: float32) { %d }", "where what forward leaves is float32"),
    ],
)
def test_rules_that_do_not_fit(rule, message):
    text = RULED.replace("@f, @forward, @backward", f"@f, {rule}")
    with pytest.raises(RelayError, match=message) as found:
        rt.infer_types(rt.parse(text))
    assert "In the call of custom_vjp" in str(found.value) and ":7:" in str(found.value)


def test_captured_variables_have_no_adjoints(after):
    text = RULED.replace("@f, @forward", "fn (%y: float32) { %x * %y }, @forward")
    with pytest.raises(BuildError, match="captures %x, which changes"):
        after(text)
    cell = text.replace("@twice(%k", "@twice(%k").replace("let %h =", "let %x0 = ref(%x); let %h =")
    with pytest.raises(BuildError, match="captures %x0, which holds a cell"):
        after(cell.replace("{ %x * %y }", "{ ref_read(%x0) * %y }"))
