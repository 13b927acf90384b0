"""Kernels are marked as decisive where a derivative chooses by what is computed from them."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.ir.expr import Call, Expr, Function
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.op.decisive import is_decisive
from relay_tune.op.lower import lower_function
from relay_tune.op.primitive_key import canonical_text, operators_text
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import plan_program
from relay_tune.transform.fusion.fuse import Fuse
from relay_tune.transform.keep_decisions import KeepDecisions
from relay_tune.transform.pipeline import PipelineOptions, default_pipeline
from tests.schedule.machines import SERVER

LAYERS = """
def @f(%x: Tensor[(8, 16), float32], %w: Tensor[(16, 16), float32],
       %v: Tensor[(16, 16), float32]) {{
  %0 = nn.dense(%x, %w);
  %1 = {};
  %2 = nn.dense(%1, %v);
  sum({})
}}
def @main(%x: Tensor[(8, 16), float32], %w: Tensor[(16, 16), float32],
          %v: Tensor[(16, 16), float32]) {{ grad(@f)(%x, %w, %v) }}"""


def kernels(module: Module) -> list[Function]:
    """Those of a module, in order."""
    found: list[Function] = []

    def enter(node: Expr) -> bool:
        return not (isinstance(node, Function) and node.is_primitive)

    for function in module.functions.values():
        for node in post_order(function.body, enter=enter):
            if isinstance(node, Call) and isinstance(node.callee, Function):
                found.append(node.callee)
    return found


def compiled(module: Module) -> Module:
    """The kernels of a build."""
    options = PipelineOptions(machine=SERVER)
    return default_pipeline(options).until("keep_decisions")(module)


def marked(module: Module) -> list[str]:
    """The operators of each marked kernel, in order."""
    return [operators_text(kernel) for kernel in kernels(module) if is_decisive(kernel)]


MARKED = {
    "relu": ("nn.relu(%0)", "%2", 1),
    "relus": ("nn.relu(%0)", "nn.relu(%2)", 2),
    "through a smooth function": ("tanh(%0)", "nn.relu(%2)", 2),
    "clip": ("clip(%0, a_min=0f, a_max=1f)", "%2", 1),
    "abs": ("abs(%0)", "%2", 1),
    "maximum": ("maximum(%0, %x)", "%2", 1),
    "a maximum of rows, derived": ("subtract(%0, max(%0, axis=[1], keepdims=True))", "%2", 1),
    "positions": ("sort(%0)", "%2", 1),
    "a choice of the program": ("where(greater(%0, 0f), %0, %x)", "%2", 1),
    "tanh": ("tanh(%0)", "nn.gelu(%2)", 0),
    "softmax and a norm": ("nn.softmax(%0)", "nn.log_softmax(%2)", 0),
    "a choice by a given value": ("where(greater(%x, 0f), %0, %x)", "%2", 0),
}


@pytest.mark.parametrize("name", MARKED)
def test_what_a_derivative_chooses_by_is_marked(name: str) -> None:
    first, last, count = MARKED[name]
    module = compiled(parse(LAYERS.format(first, last)))
    found = marked(module)
    assert len(found) == count, found
    assert all(text.startswith("dense") for text in found)
    assert "decisive" not in module.astext()


def test_inference_has_no_decisions() -> None:
    text = LAYERS.format("nn.relu(%0)", "argmax(%2, axis=[1])").replace("grad(@f)", "@f")
    assert marked(compiled(parse(text.replace("sum(argmax", "(argmax")))) == []


def test_a_module_without_conditions_stays_the_same() -> None:
    module = Fuse()(rt.infer_types(parse("def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }")))
    assert KeepDecisions()(module) is module


RECURSION = """
def @f(%n: int32, %h: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32])
    -> Tensor[(4, 4), float32] {{
  if (less(%n, 1)) {{ %h }} else {{ @f(subtract(%n, 1), {}(nn.dense(%h, %w)), %w) }}
}}
def @loss(%n: int32, %x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]) {{
  sum(@f(%n, nn.dense(%x, %w), %w))
}}
def @main(%n: int32, %x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]) {{
  grad(@loss, wrt=(2,))(%n, %x, %w)
}}"""


@pytest.mark.parametrize(("function", "count"), [("nn.relu", 2), ("tanh", 0)])
def test_what_a_tape_hands_over_decides_where_it_was_made(function: str, count: int) -> None:
    """The product in the recursion, and the one that it begins with."""
    assert len(marked(compiled(parse(RECURSION.format(function))))) == count


STEPS = """
def @loss(%x: Tensor[(8, 16), float32], %w: Tensor[(16, 16), float32]) {
  sum(nn.relu(nn.dense(%x, %w)))
}
def @train(%n: int32, %x: Tensor[(8, 16), float32], %w: Tensor[(16, 16), float32])
    -> Tensor[(16, 16), float32] {
  if (less(%n, 1)) { %w } else {
    let %r = grad(@loss, wrt=(1,))(%x, %w);
    @train(subtract(%n, 1), %x, subtract(%w, %r.1.0))
  }
}
def @main(%n: int32, %x: Tensor[(8, 16), float32], %w: Tensor[(16, 16), float32]) {
  @train(%n, %x, %w)
}"""


def test_updates_decide_nothing_in_the_step_that_makes_them() -> None:
    module = compiled(parse(STEPS))
    (found,) = marked(module)
    assert found.startswith("dense")
    products = [each for each in map(operators_text, kernels(module)) if "matmul" in each]
    assert products  # the gradient of the weight, which is the update


def test_a_marked_kernel_has_its_own_key_and_rounds_as_direct_sums_do() -> None:
    text = """
def @f(%x: Tensor[(1, 32, 32, 64), float32], %w: Tensor[(3, 3, 64, 64), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1], kernel_size=[3, 3], channels=64,
                 data_layout="NHWC", kernel_layout="HWIO");
  sum(nn.relu(%0))
}
def @main(%x: Tensor[(1, 32, 32, 64), float32], %w: Tensor[(3, 3, 64, 64), float32]) {
  grad(@f)(%x, %w)
}"""
    (kernel,) = (each for each in kernels(compiled(parse(text))) if is_decisive(each))
    plain = Function(kernel.params, kernel.body, attributes={"Primitive": 1})
    assert canonical_text(kernel) == canonical_text(plain) + " decisive"
    names = {str(each).partition("(")[0] for each in plan_program(lower_function(plain)).algorithms}
    assert {"winograd", "bf16x3"} <= names
    plan = plan_program(lower_function(kernel))
    strict = {str(each) for each in plan.algorithms}
    assert not any(each.startswith(("winograd(tile=4", "bf16x3")) for each in strict)
    assert {"bf16x6", "winograd(tile=2)"} <= {each.replace(", block=None", "") for each in strict}
    relaxed = plan.with_accuracy(Accuracy.RELAXED)
    (tiles,) = (each for each in relaxed.algorithms if str(each) == "winograd(tile=4)")
    assert plan.allowing(tiles).allows(tiles)


def test_a_mask_is_that_of_direct_sums() -> None:
    """A bias puts one element of a layer so near zero that rounding it more takes its sign."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 64, 32, 32)).astype(np.float32)
    w = rng.standard_normal((64, 64, 3, 3)).astype(np.float32)
    layer = "nn.conv2d(%x, %w, padding=[1, 1], kernel_size=[3, 3], channels=64)"
    types = "%x: Tensor[(1, 64, 32, 32), float32], %w: Tensor[(64, 64, 3, 3), float32]"
    plain = parse(f"def @main({types}) {{ {layer} }}")
    wide = parse(f"def @main({types}) {{ {layer} }}".replace("float32", "float64"))
    exact = rt.interpret(wide, x.astype(np.float64), w.astype(np.float64))
    fast, direct = (rt.build(plain, accuracy=each)(x, w) - exact for each in ("fast", "exact"))
    margin = np.abs(fast) - 4 * np.abs(direct) - 1e-7 * np.abs(exact)
    place = np.unravel_index(margin.argmax(), margin.shape)
    if margin[place] <= 0:
        pytest.skip("no algorithm that rounds more is faster here")
    bias = np.zeros(64, np.float32)
    bias[place[1]] = -exact[place] - fast[place] / 2
    above = exact[place] + np.float64(bias[place[1]]) > 0
    assert above != (exact[place] + fast[place] + np.float64(bias[place[1]]) > 0)
    module = parse(
        f"def @main({types}, %b: Tensor[(64), float32]) {{ nn.relu(nn.bias_add({layer}, %b)) }}"
    )
    seed = np.zeros_like(x)
    seed[place] = 1
    _, (slope,) = rt.build(rt.vjp(module, wrt=["b"]))(x, w, bias, seed)
    assert slope[place[1]] == float(above)
