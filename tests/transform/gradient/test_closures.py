"""Closures that ask for derivatives beside others of the same type."""

import re

import numpy as np
import pytest

import relay_tune as rt

MANY = """
def @once(%f: fn (float32) -> float32, %x: float32) -> float32 { %f(%x) }
def @twice(%f: fn (float32) -> float32, %x: float32) -> float32 { @once(%f, @once(%f, %x)) }
def @many(%f: fn (float32) -> float32, %n: int32, %x: float32) -> float32 {
  if (%n < 1) { %x } else { @twice(%f, @many(%f, %n - 1, %x)) }
}
"""
PROGRAMS = {
    "the function is another closure": """
def @main(%x: float32) {
  let %f = fn (%a: float32) { %a * %a * %x };
  let %g = fn (%a: float32) { grad(%f)(%a).1.0 };
  let %chosen = if (%x < 0f) { %f } else { fn (%a: float32) { %a * 0.5f } };
  sin(%g(%chosen(%x)))
}""",
    "the function calls what calls it": f"""{MANY}
def @main(%x: float32) {{
  let %inner = fn (%a: float32) {{ @many(fn (%b: float32) {{ %b + sin(%b) * %x }}, 1, %a) }};
  @many(fn (%a: float32) {{ cos(grad(%inner)(%a).1.0) }}, 1, %x)
}}""",
    "it is called by a local function": """
def @main(%x: float32) {
  let %twice = fn (%f: fn (float32) -> float32, %x: float32) -> float32 { %f(%f(%x)) };
  let %inner = fn (%a: float32) { %twice(fn (%b: float32) { %b * tanh(%b) }, %a) };
  %twice(fn (%a: float32) { sin(grad(%inner)(%a).1.0) }, %x)
}""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_told_apart(name: str) -> None:
    text = PROGRAMS[name]
    wide = re.sub(r"(\d)f\b", r"\1f64", text.replace("float32", "float64"))
    module = rt.infer_types(rt.parse(wide))
    value, (slope,) = rt.interpret(rt.value_and_grad(module), np.float64(0.7))
    high, low = (float(rt.interpret(module, np.float64(0.7 + step))) for step in (1e-6, -1e-6))
    assert slope == pytest.approx((high - low) / 2e-6, rel=1e-6) and abs(slope) > 1e-3
    native = rt.build(rt.value_and_grad(rt.infer_types(rt.parse(text))), threads=1)
    assert native(np.float32(0.7))[1][0] == pytest.approx(float(slope), rel=1e-4)
