"""Derivatives of programs that forget sizes, or tell some that the value's type leaves open."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.runtime.interpreter.interpret import interpret

ROW = "Tensor[(1, 3), float64]"
OPEN = "Tensor[(?, ?), float64]"
INPUTS = f"%x: {ROW}, %y: Tensor[(2, 3), float64]"

BODIES = {
    "forgotten": f"let %open: {OPEN} = sin(%x); sum(%open * %open * %y)",
    "told": f"let %open: {OPEN} = sin(%x); let %told: {ROW} = abs(%open); sum(%told * %y)",
    "slices": "let %open: Tensor[(?, 2), float64] = strided_slice(%x, begin=[0, 1], end=[1, 3]); "
    "let %told: Tensor[(1, 2), float64] = %open; let %low = nn.pad(%told, 0f64, "
    "pad_width=[[1, 0], [0, 1]]); sum(%low * %y)",
    "tuples": f"let %pair: ({OPEN}, float64) = (sin(%x), 2f64); "
    f"let %told: ({ROW}, float64) = %pair; sum(%told.0 * %y) * %told.1",
    "branches": f"let %told: {ROW} = if (sum(%y) < 0f64) {{ %x }} else {{ "
    f"let %open: {OPEN} = sin(%x); %open * %open }}; sum(%told * %y)",
    "branches_forget": f"let %open: {OPEN} = if (sum(%y) < 0f64) {{ %x }} else {{ sin(%x) }}; "
    f"let %told: {ROW} = %open; sum(%told * %y)",
    "patterns": f"let %open: {OPEN} = sin(%x); match ((%open, %y)) {{ (%told: {ROW}, %z) => "
    "{ sum(%told * %z * %told) }, }",
    "data": f"let %open: {OPEN} = sin(%x); let %some: Box[{OPEN}] = Full(%open); "
    f"let %told: {ROW} = match (%some) {{ Full(%v) => {{ %v * %v }}, Empty => {{ %x }}, }}; "
    "sum(%told * %y)",
    "calls": f"let %open: {OPEN} = sin(%x); sum(@square(%open) * %y)",
    "recursion": f"let %open: {OPEN} = sin(%x); sum(@power(%open, 3) * %y)",
    "open_calls": "let %v = @open_power(sin(%x), 2); sum(@open_power(%v * %x, 1) * %y)",
    "named": "let %z = @mixed(%y, %y, 1); sum(@mixed(sin(%x), %x, 2)) * sum(%z * %y)",
    "cells": f"let %open: {OPEN} = sin(%x); let %cell = ref(%open); "
    f"let %a: {ROW} = ref_read(%cell); "
    "let %_ = ref_write(%cell, %a * %x); sum(ref_read(%cell) * %y)",
}


def program(name: str) -> str:
    return (
        "type Box[A] { Full(A), Empty, }\n"
        f"def @square(%a: {ROW}) -> {OPEN} {{ %a * %a }}\n"
        f"def @power(%a: {ROW}, %n: int32) -> {OPEN} {{ if (%n == 0) {{ %a }} "
        "else { sin(@power(%a, %n - 1)) * %a } }\n"
        f"def @open_power(%a: {OPEN}, %n: int32) -> {ROW} {{ if (%n == 0) {{ %a }} "
        "else { cos(@open_power(%a, %n - 1)) * %a } }\n"
        "def @mixed(%a: Tensor[(n, 3), float64], %b: Tensor[(n, 3), float64], %count: int32) "
        "-> Tensor[(n, 3), float64] { if (%count <= 0) { %a } "
        "else { @mixed(sin(%a * %b), %b, %count - 1) * %a } }\n"
        f"def @f({INPUTS}) -> float64 {{ {BODIES[name]} }}\n"
    )


def inputs() -> tuple[np.ndarray, np.ndarray]:
    return np.array([[1.0, -2.0, 3.0]]) / 4, np.arange(6.0).reshape(2, 3) / 4 + 1


@pytest.mark.parametrize("name", BODIES)
def test_both_modes_give_central_differences(after, difference, name):
    x, y = inputs()
    text = program(name)
    backward = after(f"{text}def @main({INPUTS}) {{ grad(@f)(%x, %y).1 }}")
    slopes = interpret(backward, x, y)
    for slope, wanted in zip(slopes, difference(text, x, y), strict=True):
        np.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-8)
    main = f"def @main({INPUTS}) {{ jvp(@f)(%x, %y, tanh(%x), %y * %y).1 }}"
    tangent = interpret(after(text + main), x, y)
    np.testing.assert_allclose(tangent, np.sum(slopes[0] * np.tanh(x)) + np.sum(slopes[1] * y * y))
    for found, wanted in zip(build(backward, threads=1)(x, y), slopes, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", BODIES)
def test_a_product_with_the_hessian_is_the_same_in_both_orders(after, name):
    text = program(name)
    params = INPUTS.replace("%x", "%a").replace("%y", "%b")
    given = "(%x, %y, tanh(%x), %y * %y)"
    over_reverse = f"let %g = fn ({params}) {{ grad(@f)(%a, %b).1 }}; jvp(%g){given}.1"
    over_forward = (
        f"let %u = tanh(%x); let %v = %y * %y; let %g = fn ({params}) -> float64 "
        "{ jvp(@f)(%a, %b, %u, %v).1 }; grad(%g)(%x, %y).1"
    )
    found, wanted = (
        interpret(after(f"{text}def @main({INPUTS}) {{ {body} }}"), *inputs())
        for body in (over_reverse, over_forward)
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
