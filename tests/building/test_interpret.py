"""rt.interpret of programs that ask for derivatives."""

import numpy as np
import pytest

import relay_tune as rt

CUBE = "def @cube(%x: float64) -> float64 { %x * %x * %x }\n"


def test_derivatives_are_interpreted() -> None:
    module = rt.parse(CUBE + "def @main(%x: float64) { grad(@cube)(%x) }")
    value, (slope,) = rt.interpret(module, 2.0)
    assert (value, slope) == (8.0, 12.0)


def test_functions_that_are_not_main() -> None:
    module = rt.parse(
        CUBE + "def @main(%x: float64) { %x }\ndef @other(%x: float64) { jvp(@cube)(%x, 1f64) }"
    )
    assert rt.interpret(module, 2.0, function="other") == (8.0, 12.0)
    assert rt.interpret(module, 2.0) == 2.0


def test_what_has_no_derivative_is_refused() -> None:
    module = rt.parse(
        'def @bits(%y: Tensor[(2), float64]) { sum(reinterpret(%y, dtype="float64")) }\n'
        "def @main(%x: Tensor[(2), float64]) { grad(@bits)(%x) }"
    )
    with pytest.raises(rt.RelayError, match="reinterpret has no derivative"):
        rt.interpret(module, np.zeros(2))
