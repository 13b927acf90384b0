"""Recursion, tail calls, and arguments that registers do not hold."""

import threading

import numpy as np
import pytest

from relay_tune.errors import RelayError
from relay_tune.runtime.interpreter.interpret import interpret
from tests.building.running_programs import VECTOR, built, check
from tests.properties.programs.compare import assert_same_value

DEEP = """
def @depth(%n: int64, %x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  if (%n < 1i64) { %x } else { tanh(@depth(%n - 1i64, %x + 1f)) }
}
def @main(%n: int64, %x: Tensor[(2), float32]) { @depth(%n, %x) }
"""


def test_recursion_that_is_too_deep_is_an_error() -> None:
    _, model = built(DEEP)
    x = np.ones(2, "float32")
    model(100_000, x)
    for _ in range(2):
        with pytest.raises(RelayError, match="Recursion too deep"):
            model(1 << 40, x)
        np.testing.assert_allclose(model(3, x), np.tanh(np.tanh(np.tanh(x + 3))), rtol=1e-5)


def test_recursion_does_not_depend_on_the_stack_of_the_thread() -> None:
    _, model = built(DEEP)
    found: list[object] = []
    previous = threading.stack_size(256 * 1024)
    thread = threading.Thread(target=lambda: found.append(model(500_000, np.ones(2, "float32"))))
    thread.start()
    thread.join()
    threading.stack_size(previous)
    assert len(found) == 1


def test_mutual_tail_calls_and_calls_of_closures_need_no_stack() -> None:
    text = """
def @even(%n: int32, %f: fn (int32) -> int32) -> bool {
  if (%n < 1) { True } else { @odd(%f(%n), %f) }
}
def @odd(%n: int32, %f: fn (int32) -> int32) -> bool {
  if (%n < 1) { False } else { @even(%f(%n), %f) }
}
def @count(%n: int32, %next: fn (int32) -> int32) -> int32 {
  if (%n < 1) { %next(%n) } else { @count(%n - 1, fn (%m: int32) { %next(%m + 1) }) }
}
def @main(%n: int32) {
  let %step = fn (%i: int32) { %i - 1 };
  (@even(%n, %step), @count(1000, %step))
}
"""
    _, model = built(text)
    assert model(3_000_001) == (False, 999)


def test_arguments_that_do_not_fit_into_registers() -> None:
    """Tail calls between functions with many and few parameters, all of which change places."""
    text = """
def @many(%n: int32, %a: int32, %b: int32, %c: bool, %d: int32, %e: int64, %f: int32, %g: int32)
    -> (int32, bool, int64) {
  if (%n < 1) { @few(%a * 1000 + %b * 100 + %d * 10 + %f, %c, %e + cast(%g, dtype="int64")) }
  else { @many(%n - 1, %b, %g, %a < %b, %f, %e + 1i64, %a, %d) }
}
def @few(%x: int32, %y: bool, %z: int64) -> (int32, bool, int64) { (%x, %y, %z) }
def @main(%n: int32) { @many(%n, 1, 2, True, 3, 40i64, 5, 6) }
"""
    module, model = built(text)
    for turns in range(6):
        assert_same_value(model(turns), interpret(module, turns))


def test_floats_that_do_not_fit_into_registers() -> None:
    names = "abcdefghijkl"
    params = ", ".join(f"%{name}: float32" for name in names)
    turned = ", ".join(f"%{name}" for name in names[1:] + names[:1])
    weighted = " + ".join(f"%{name} * {1 << index}f" for index, name in enumerate(names))
    text = f"""
def @turn(%n: int32, {params}) -> float32 {{
  if (%n < 1) {{ {weighted} }} else {{ @turn(%n - 1, {turned}) }}
}}
def @main(%n: int32) {{ @turn(%n, {", ".join(f"{index}f" for index in range(12))}) }}
"""
    module, model = built(text)
    for turns in range(12):
        assert_same_value(model(turns), interpret(module, turns))


def test_closures_with_many_arguments_end_in_others_with_few() -> None:
    check(
        f"""
def @main(%x: {VECTOR}, %n: int32) {{
  let %last = fn (%a: {VECTOR}, %k: int32) -> ({VECTOR}, int32) {{ (%a, %k) }};
  let %step = fn (%a: {VECTOR}, %p: int32, %q: int32, %b: {VECTOR}, %r: int32,
                  %next: fn ({VECTOR}, int32) -> ({VECTOR}, int32), %s: int32)
      -> ({VECTOR}, int32) {{ %next(%a - %b, %p * 1000 + %q * 100 + %r * 10 + %s) }};
  let %chosen = if (%n < 1) {{ %step }} else {{
    fn (%a: {VECTOR}, %p: int32, %q: int32, %b: {VECTOR}, %r: int32,
        %next: fn ({VECTOR}, int32) -> ({VECTOR}, int32), %s: int32) -> ({VECTOR}, int32) {{
      %step(%b, %s, %r, %a, %q, %next, %p)
    }}
  }};
  let %together = (%chosen, %last).0;
  (%together(%x, 1, 2, %x * 2f, 3, %last, 4), %chosen(%x * 3f, 5, 6, %x, 7, %last, 8))
}}
""",
        np.arange(4, dtype="float32"),
        1,
    )
