"""Functions that derivatives compute again: what is kept, bits, programs, refusals."""

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import BuildError, RelayError

ROWS, WEIGHT = "Tensor[(32, 16), float32]", "Tensor[(16, 16), float32]"
LAYERS = f"""
def @block(%x: {ROWS}, %w: {WEIGHT}) -> {ROWS} {{
  let %a = tanh(nn.dense(%x, %w));
  let %b = tanh(nn.dense(%a, %w));
  tanh(nn.dense(%b, %w))
}}
def @loss(%x: {ROWS}, %u: {WEIGHT}, %v: {WEIGHT}, %w: {WEIGHT}) -> float32 {{
  let %h = @kept(@kept(@kept(%x, %u), %v), %w);
  sum(%h * %h)
}}
def @main(%x: {ROWS}, %u: {WEIGHT}, %v: {WEIGHT}, %w: {WEIGHT}) {{ grad(@loss)(%x, %u, %v, %w) }}
"""


def _layers(block: str) -> rt.Module:
    return rt.infer_types(rt.parse(LAYERS.replace("@kept", block)))


def test_bits_are_the_same_and_memory_is_not():
    random = np.random.default_rng(0)
    given = [random.normal(size=(32, 16)), *random.normal(size=(3, 16, 16)) / 3]
    inputs = [each.astype("float32") for each in given]
    plain, kept = _layers("@block"), _layers("checkpoint(@block)")
    wanted, found = rt.interpret(plain, *inputs), rt.interpret(kept, *inputs)
    assert found[0] == wanted[0]
    models = [rt.build(module, threads=1) for module in (plain, kept)]
    (value, gradients), (value_again, gradients_again) = (model(*inputs) for model in models)
    assert value_again == pytest.approx(value, rel=1e-6)
    for one, other in zip((*wanted[1], *gradients), (*found[1], *gradients_again), strict=True):
        np.testing.assert_array_equal(one, other)
    assert models[1].workspace_bytes < 0.7 * models[0].workspace_bytes


def test_the_backward_code_computes_again_what_the_forward_code_forgets(after):
    text = after(
        """
        def @f(%x: float32, %w: float32) { exp(sin(%x * %w)) }
        def @main(%x: float32, %w: float32) {
          grad(fn (%x: float32, %w: float32) { checkpoint(@f)(%x, %w) * %w }, wrt=[0])(%x, %w)
        }
        """
    ).astext()
    forward, backward = text.split("let %x_again = again(%x, %d_v);")
    assert "@f" not in text and "checkpoint" not in text
    assert forward.count("sin(") == backward.count("sin(") == 1
    assert "cos(" in backward


PROGRAM = """
type Pair { Both(float64, int32) }
def @twice(%h: fn (float64) -> float64, %x: float64) { checkpoint(%h)(%h(%x)) }
def @inner(%p: (float64, Pair), %w: float64) {
  match (%p.1) {
    Both(%y, %n) => {
      let %cell = ref(%y);
      ref_write(%cell, ref_read(%cell) * %p.0);
      (sin(%p.0 * %w), Both(ref_read(%cell) + %p.0, %n))
    }
  }
}
def @steps(%p: (float64, Pair), %w: float64, %n: int32) -> (float64, Pair) {
  if (%n == 0) { %p } else { @steps(checkpoint(@inner)(%p, %w), %w, %n - 1) }
}
def @halves(%p: (float64, Pair), %w: float64, %n: int32) -> (float64, Pair) {
  if (%n < 3) {
    @steps(%p, %w, %n)
  } else {
    let %half = checkpoint(@halves);
    %half(%half(%p, %w, %n / 2), %w, %n - %n / 2)
  }
}
def @f(%x: float64, %w: float64) -> float64 {
  let %k = fn (%y: float64) { tanh(%y * %x) * %w };
  let %p = checkpoint(@halves)((%x, Both(@twice(%k, %x), 1)), %w, 7);
  match (%p.1) { Both(%y, %_) => { %y * %p.0 } }
}
def @main(%x: float64, %w: float64) { grad(@f)(%x, %w) }
def @curved(%x: float64, %w: float64) {
  grad(fn (%x: float64, %w: float64) { grad(@f)(%x, %w).1.0 })(%x, %w)
}
def @pushed(%x: float64, %w: float64) { jvp(@f)(%x, %w, 1f64, 0.5f64) }
"""


def test_closures_recursion_data_and_cells_inside(difference):
    plain = PROGRAM.replace("checkpoint(@halves)", "@halves").replace("checkpoint", "")
    module = rt.infer_types(rt.parse(PROGRAM))
    inputs = np.float64(0.7), np.float64(1.3)
    slopes = difference(plain, *inputs)
    _, found = rt.build(module, threads=1)(*inputs)
    np.testing.assert_allclose(found, slopes, rtol=1e-7)
    _, tangent = rt.interpret(module, *inputs, function="pushed")
    assert tangent == pytest.approx(slopes[0] + 0.5 * slopes[1], rel=1e-7)
    wanted = rt.interpret(rt.infer_types(rt.parse(plain)), *inputs, function="curved")
    found = rt.interpret(module, *inputs, function="curved")
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-13)


def test_a_function_that_never_returns(after):
    found = after(
        """
        type Never {}
        def @absurd(%n: Never) -> float32 { match? (%n) {} }
        def @f(%x: float32, %n: Option) -> float32 {
          match (%n) { None => { %x * %x }, Some(%v) => { checkpoint(@absurd)(%v) * %x } }
        }
        type Option { Some(Never), None }
        def @main(%x: float32) { grad(@f, wrt=[0])(%x, None()) }
        """
    )
    assert rt.interpret(found, 3.0) == (9, (6,))


def test_cells_of_others_are_refused(after):
    shared = """
    def @main(%x: float32) { grad(@f)(%x) }
    def @f(%x: float32) -> float32 {
      let %cell = ref(%x);
      let %g = checkpoint(fn (%y: float32) { ref_write(%cell, %y); ref_read(%cell) * %x });
      %g(%x) + %g(%x)
    }
    """
    with pytest.raises(BuildError, match="takes %cell, which holds a cell") as found:
        after(shared)
    assert "Give it the value of the cell" in str(found.value)
    assert ":6:" in str(found.value)
    with pytest.raises(BuildError, match="returns a cell"):
        after(
            """
            def @cell(%x: float32) { ref(%x * %x) }
            def @f(%x: float32) -> float32 { ref_read(checkpoint(@cell)(%x)) }
            def @main(%x: float32) { grad(@f)(%x) }
            """
        )
    with pytest.raises(RelayError, match="parameter 0 of the function is a cell"):
        rt.infer_types(
            rt.parse("def @f(%r: ref(float32)) { checkpoint(fn (%s) { ref_read(%s) })(%r) }")
        )
