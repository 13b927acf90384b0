from __future__ import annotations

import pytest

from relay_tune.tensor.expression import INDEX, Axis, Scalar, cast, literal, reduce, select, unary
from relay_tune.tensor.expression_text import scalar_text, tensor_lines
from relay_tune.tensor.tensor import compute, input_tensor

i = Axis("i", 4, dtype=INDEX)
j = Axis("j", 8, dtype=INDEX)
k = Axis("k", 8, dtype=INDEX)
x = input_tensor("x", (8,), "float32")
y = input_tensor("y", (8, 8), "float32")
a, b, c = x[i], x[j], x[k]

CASES = [
    (a + b + c, "x[i] + x[j] + x[k]"),
    (a - (b - c), "x[i] - (x[j] - x[k])"),
    (a - b - c, "x[i] - x[j] - x[k]"),
    ((a + b) * c, "(x[i] + x[j]) * x[k]"),
    (a + b * c, "x[i] + x[j] * x[k]"),
    (a / (b * c), "x[i] / (x[j] * x[k])"),
    (unary("exp", a + b) + 1.5, "exp(x[i] + x[j]) + 1.5"),
    (y[i * 2 + j, k], "y[i * 2 + j, k]"),
    (cast(i, "float32"), "float32(i)"),
    (reduce("sum", (k,), y[i, k]), "sum(k < 8: y[i, k])"),
    (select(literal(True, "bool"), a, b), "select(True, x[i], x[j])"),
]


@pytest.mark.parametrize(("expression", "text"), CASES, ids=[text for _, text in CASES])
def test_text(expression: Scalar, text: str) -> None:
    written = scalar_text(expression)
    assert (written.definitions, written.text) == ((), text)


def test_what_is_used_twice_gets_a_name() -> None:
    total = a + b
    assert scalar_text(total * total).definitions == ("t0 = x[i] + x[j]",)
    assert scalar_text(total * total).text == "t0 * t0"


def test_text_is_linear_in_a_chain_of_squares() -> None:
    value: Scalar = a
    for _ in range(200):
        value = value * value
    written = scalar_text(value)
    assert len(written.definitions) == 199
    assert max(map(len, written.definitions)) < 30


def test_deep_expressions_need_no_recursion() -> None:
    value: Scalar = a
    for _ in range(5_000):
        value = unary("exp", value)
    assert scalar_text(value).text.endswith(")" * 5_000)


def test_a_tensor_is_its_shape_and_its_elements() -> None:
    doubled = compute("doubled", (8,), lambda at: x[at] + x[at])
    assert tensor_lines(x) == ["x: float32[8]"]
    assert tensor_lines(doubled) == ["doubled: float32[8]", "  [i] = x[i] + x[i]"]
