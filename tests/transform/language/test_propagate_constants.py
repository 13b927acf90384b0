import numpy as np

from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.language.propagate_constants import PropagateConstants
from relay_tune.typing.infer import infer_types

WEIGHT = np.arange(8, dtype="float32").reshape(2, 4)
MATRIX = "Tensor[(2, 4), float32]"
ROW = "Tensor[(1, 4), float32]"


def propagated(text: str) -> tuple[Module, Module]:
    module = infer_types(parse('#[version = "0.0.5"]\n' + text))
    if any(param.name == "w" for param in module.main.params):
        module = infer_types(BindParameters({"w": WEIGHT})(module))
    return module, PropagateConstants()(module)


def parameters(module: Module, name: str) -> list[str]:
    return [param.name for param in module.functions[name].params]


def test_a_weight_that_a_recursive_function_hands_on() -> None:
    before, after = propagated(
        f"""
def @loop(%n: int32, %x: {ROW}, %w: {MATRIX}) -> {ROW} {{
  if (%n < 1) {{ %x }} else {{ @loop(%n - 1, nn.dense(nn.dense(%x, %w), transpose(%w)), %w) }}
}}
def @main(%n: int32, %x: {ROW}, %w: {MATRIX}) {{
  let %weight = %w;
  @loop(%n, %x, %weight)
}}
"""
    )
    assert parameters(after, "loop") == ["n", "x"]
    x = np.ones((1, 4), "float32")
    np.testing.assert_array_equal(interpret(after, 2, x), interpret(before, 2, x))


def test_different_constants_stay_parameters() -> None:
    _, after = propagated(
        """
def @f(%x: float32, %a: float32, %b: float32) { %x * %a + %b }
def @main(%x: float32) { @f(@f(%x, 2f, 3f), 4f, 3f) }
"""
    )
    assert parameters(after, "f") == ["x", "a"]


def test_functions_that_are_passed_on_keep_their_parameters() -> None:
    _, after = propagated(
        """
def @f(%x: float32) { %x * 2f }
def @apply(%g: fn (float32) -> float32) { %g(1f) }
def @main() {
  let %h = fn (%y: float32) { %y };
  (@f(3f), @apply(@f), @apply(%h), %h(2f))
}
"""
    )
    assert parameters(after, "f") == ["x"]
    assert interpret(after)[0] == 6  # type: ignore[index]


def test_captured_constants() -> None:
    before, after = propagated(
        f"""
def @main(%n: int32, %x: {ROW}, %w: {MATRIX}) {{
  let %scale = 2f;
  let %loop = fn (%i: int32, %y: {ROW}, %v: {MATRIX}) -> {ROW} {{
    if (%i < 1) {{ %y }} else {{
      %loop(%i - 1, %scale * nn.dense(nn.dense(%y, %v), transpose(%v)), %v)
    }}
  }};
  %loop(%n, %x, %w)
}}
"""
    )
    text = after.astext()
    assert "%scale" not in text and "%v" not in text
    x = np.ones((1, 4), "float32")
    np.testing.assert_array_equal(interpret(after, 2, x), interpret(before, 2, x))


def test_a_parameter_whose_sizes_have_names_stays() -> None:
    before, after = propagated(
        f"""
def @f(%x: Tensor[(n, 4), float32], %y: Tensor[(n, 4), float32]) -> Tensor[(n, 4), float32] {{
  %x + %y
}}
def @main(%a: {MATRIX}, %w: {MATRIX}) {{ @f(%w, %a) }}
"""
    )
    assert parameters(after, "f") == ["x", "y"]
    a = np.ones((2, 4), "float32")
    np.testing.assert_array_equal(interpret(after, a), interpret(before, a))
