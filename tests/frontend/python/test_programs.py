"""Functions, data types, the prelude and references in programs written in Python."""

# The programs use names that Relay knows and Python does not.
# ruff: noqa: B007, B018, F722, F821, SIM201, UP037

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay_tune.errors import InputError, ParseError
from relay_tune.frontend.python.relay_function import RelayFunction, relay
from relay_tune.frontend.python.types import Tensor
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.expr import Constant
from relay_tune.ir.traversal import post_order
from relay_tune.runtime.data_values import data_value, list_value
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.std import prelude
from tests.frontend.python.running import run

WEIGHT = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)


@relay
def factorial(n: int) -> int:
    return 1 if n == 0 else n * factorial(n - 1)


@relay
def is_even(n: int) -> bool:
    return True if n == 0 else is_odd(n - 1)


@relay
def is_odd(n: int) -> bool:
    return False if n == 0 else is_even(n - 1)


def test_recursion_and_functions_that_call_each_other() -> None:
    assert run(factorial, 6) == 720
    assert [run(is_even, n) for n in range(4)] == [True, False, True, False]
    assert set(is_even.module.functions) == {"main", "is_odd"}


@relay
def named_arguments(a: int, b: int):
    return subtract_all(b=a, a=b)


@relay
def subtract_all(a: int, b: int):
    return a - b


def test_named_arguments() -> None:
    assert run(named_arguments, 1, 10) == 9


@relay
def tree_sum(tree: "Tree[int32]") -> int:
    match tree:
        case Rose(value, []):
            return value
        case Rose(value, children):
            total = value
            for child in children:
                total += tree_sum(child)
            return total


@relay
def first_two(xs: list[int]):
    match xs:
        case [a, b, *_]:
            result = a * 10 + b
        case [a]:
            result = a
        case []:
            result = -1
    return result


def leaf(value: int, *children: Any) -> ConstructorValue:
    return data_value(prelude("Tree"), "Rose", value, list_value(children))


def test_match_on_data_types() -> None:
    assert run(tree_sum, leaf(1, leaf(2, leaf(3)), leaf(4))) == 10
    assert [run(first_two, xs) for xs in ([], [5], [1, 2], [3, 4, 5])] == [-1, 5, 12, 34]


SHAPES = parse("type Shape { Circle(float32), Rectangle(float32, float32) }")


def test_data_types_of_a_base_module() -> None:
    @relay(base=SHAPES)
    def area(shape: "Shape") -> float:
        match shape:
            case Circle(radius):
                return radius * radius * 3.0
            case Rectangle(width, height):
                return width * height

    assert run(area, data_value(SHAPES, "Circle", 2.0)) == 12
    assert run(area, data_value(SHAPES, "Rectangle", 2.0, 4.0)) == 8
    assert set(area.module.types) == {"Shape"}


def test_arrays_of_python_are_constants_once() -> None:
    @relay
    def twice(x: Tensor[(1, 4), "float32"]):
        return x @ WEIGHT.T + (x * 2) @ WEIGHT.T

    constants = [n for n in post_order(twice.module.main) if isinstance(n, Constant)]
    assert sum(constant.data.shape == WEIGHT.shape for constant in constants) == 1


def test_operators_by_their_names_in_relay() -> None:
    @relay
    def scores(x: Tensor[(1, 4), "float32"]):
        return nn.softmax(nn.dense(x, WEIGHT), axis=1)

    x = np.ones((1, 4), "float32")
    logits = np.exp(x @ WEIGHT.T)
    np.testing.assert_allclose(run(scores, x), logits / logits.sum(), rtol=1e-5)


def test_functions_of_the_prelude() -> None:
    @relay
    def reversed_sum(xs: list[int]):
        return (rev(xs), foldl(lambda a, x: a * 2 + x, 0, xs), list_of_squares(3))

    @relay
    def list_of_squares(n: int):
        squares: list[int] = []
        for i in range(n):
            squares = Cons(i * i, squares)
        return rev(squares)

    assert run(reversed_sum, [1, 2, 3]) == ([3, 2, 1], 11, [0, 1, 4])


def test_references() -> None:
    @relay
    def counter(n: int):
        cell = ref(0)
        for i in range(n):
            ref_write(cell, ref_read(cell) + i)
        return ref_read(cell)

    assert run(counter, 5) == 10


def test_declared_types_stay_with_a_name() -> None:
    @relay
    def growing(n: int):
        rows: "Tensor[(?, 2), float32]" = np.zeros((0, 2), "float32")
        total: "int64" = 0
        for i in range(n):
            rows = np.concatenate((rows, np.ones((1, 2), "float32")), axis=0)
            total += 3
        return (rows, total)

    rows, total = run(growing, 3)
    assert rows.shape == (3, 2)
    assert total == 9


def test_choices_on_python_objects_are_made_at_once() -> None:
    def layer(bias: Any) -> RelayFunction:
        @relay
        def apply(x: Tensor[(1, 4), "float32"]):
            y = x @ WEIGHT.T
            if bias is not None:
                y = y + bias
            return y

        return apply

    assert "add" not in layer(None).module.astext()
    assert "add" in layer(np.ones(2, "float32")).module.astext()


def test_methods_of_other_classes() -> None:
    class Scaled:
        def __init__(self, factors: list[float]) -> None:
            self.factors = factors

        @relay
        def main(self, x: float):
            for factor in self.factors:
                x = x * factor
            return x

    assert run(Scaled([2.0, 3.0]).main, 1.0) == 6
    assert run(Scaled([]).main, 1.0) == 1


@relay
def identity(n: int):
    return n


def test_programs_do_not_run_in_python() -> None:
    with pytest.raises(InputError, match="cannot be called as a Python function"):
        identity(3)


def test_texts_left_of_an_indented_function() -> None:
    @relay
    def program(n: int):
        """What it does,
        at the left of its definition  and   beside it."""
        return n + unknown

    with pytest.raises(ParseError, match="unknown means nothing here") as caught:
        _ = program.module
    lines = str(caught.value).splitlines()
    line, caret = (each.partition(" | ")[2] for each in lines[1:3])
    assert line.strip() == "return n + unknown"
    assert line[caret.index("^") :] == "unknown"


def test_functions_without_a_file() -> None:
    scope: dict[str, Callable[..., Any]] = {}
    exec("def made(x):\n    return x", scope)
    with pytest.raises(InputError, match="source of made is not known"):
        relay(scope["made"]).module


SIZE = 3


@relay
def annotated_by_formatted_strings(x: f"Tensor[({SIZE}, {2 * SIZE}), float32]"):
    rows: f"Tensor[(?, {2 * SIZE}), float32]" = np.zeros((0, 6), "float32")
    for i in range(SIZE):
        rows = np.concatenate((rows, x[i, None] * 2), axis=0)
    return rows


def test_annotations_may_be_formatted_strings() -> None:
    data = np.arange(18, dtype="float32").reshape(3, 6)
    np.testing.assert_array_equal(run(annotated_by_formatted_strings, data), 2 * data)


def test_a_formatted_string_with_an_error_is_refused_with_its_place() -> None:
    @relay
    def broken(x: f"Tensor[({SIZE}), float32]"):
        y: f"Tensor[({SIZE // 0}), float32]" = x
        return y

    with pytest.raises(ParseError, match="This f-string cannot be evaluated"):
        broken.module  # noqa: B018
