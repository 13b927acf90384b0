"""Forward mode, and forward over reverse."""

import numpy as np
import pytest

from relay_tune.runtime.interpreter.interpret import interpret
from tests.gradient_programs import PROGRAMS

INPUTS = "%x: float64, %y: float64"


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("inputs", [(1.5, 2.25), (2.0, 0.75)])
def test_tangents_are_those_of_central_differences(after, difference, name, inputs):
    main = f"\ndef @main({INPUTS}, %a: float64, %b: float64) {{ jvp(@f)(%x, %y, %a, %b) }}"
    _, tangent = interpret(after(PROGRAMS[name] + main), *inputs, 0.5, -2.0)
    first, second = difference(PROGRAMS[name], *inputs)
    np.testing.assert_allclose(tangent, 0.5 * first - 2.0 * second, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_product_with_the_hessian_is_the_same_in_both_orders(after, name):
    """Forward over reverse, and reverse over forward."""
    text = PROGRAMS[name]
    over_reverse = (
        f"\ndef @main({INPUTS}) {{ let %g = fn (%a: float64, %b: float64) "
        "{ grad(@f)(%a, %b).1 }; jvp(%g)(%x, %y, 0.5f64, -2f64).1 }"
    )
    over_forward = (
        f"\ndef @main({INPUTS}) {{ let %g = fn (%a: float64, %b: float64) "
        "{ jvp(@f)(%a, %b, 0.5f64, -2f64).1 }; grad(%g)(%x, %y).1 }"
    )
    found = interpret(after(text + over_reverse), 1.5, 2.25)
    wanted = interpret(after(text + over_forward), 1.5, 2.25)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
