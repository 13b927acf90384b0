"""Reverse mode: what programs become, and that the derivatives are those of the programs."""

import numpy as np
import pytest

from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.tuning.tuned_build import build
from tests.gradient_programs import PROGRAMS

PLAIN = "\ndef @main(%x: float64, %y: float64) { @f(%x, %y) }"
"""A program that computes the function itself."""


def test_a_straight_line_has_no_tape(after):
    module = after(
        "def @f(%x: float32, %y: float32) { %x * %y + %x }\n"
        "def @main(%x: float32, %y: float32) { grad(@f)(%x, %y) }"
    )
    assert not module.types
    assert module.astext() == (
        '#[version = "0.0.5"]\n\n'
        "def @main(%x: float32, %y: float32) {\n"
        "  let %v = multiply(%x, %y);\n"
        "  let %result = add(%v, %x);\n"
        "  %0 = multiply(1f, %y);\n"
        "  %1 = add(1f, %0);\n"
        "  %2 = multiply(1f, %x);\n"
        "  (%result, (%1, %2))\n"
        "}\n"
    )


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("inputs", [(1.5, 2.25), (2.0, 0.75)])
def test_gradients_are_those_of_central_differences(after, difference, name, inputs):
    text = PROGRAMS[name]
    main = "\ndef @main(%x: float64, %y: float64) { grad(@f)(%x, %y) }"
    value, gradients = interpret(after(text + main), *inputs)
    np.testing.assert_allclose(value, interpret(after(text + PLAIN), *inputs), rtol=1e-12)
    wanted = difference(text, *inputs)
    np.testing.assert_allclose(gradients, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("inputs", [(1.5, 2.25), (2.0, 0.75)])
def test_second_derivatives_are_those_of_central_differences(after, difference, name, inputs):
    text = PROGRAMS[name].replace("@f(", "@inner(")
    text += (
        "\ndef @f(%x: float64, %y: float64) -> float64 { "
        "let %g = grad(@inner)(%x, %y); %g.1.0 * %y + %g.1.1 * %g.1.0 }"
    )
    main = "\ndef @main(%x: float64, %y: float64) { grad(@f)(%x, %y) }"
    value, gradients = interpret(after(text + main), *inputs)
    inner = after(text + PLAIN)
    np.testing.assert_allclose(value, interpret(inner, *inputs), rtol=1e-12)
    wanted = difference(inner.astext().split("\n", 1)[1], *inputs, step=1e-5)
    np.testing.assert_allclose(gradients, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_native_programs_give_what_the_interpreter_gives(after, name):
    module = after(PROGRAMS[name] + "\ndef @main(%x: float64, %y: float64) { grad(@f)(%x, %y) }")
    for inputs in ((1.5, 2.25), (2.0, 0.75)):
        arrays = [np.float64(each) for each in inputs]
        value, gradients = interpret(module, *arrays)
        found, native = build(module)(*arrays)
        np.testing.assert_allclose(found, value, rtol=1e-12)
        np.testing.assert_allclose(native, gradients, rtol=1e-12)
