"""Programs written in Python: what the interpreter makes of them is what Python makes of them."""

# The programs use names that Relay knows and Python does not.
# ruff: noqa: B007, B018, F722, F821, SIM201, UP037

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.frontend.python.relay_function import RelayFunction, relay
from relay_tune.frontend.python.relay_model import relay_model
from relay_tune.frontend.python.types import Tensor
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.expr import Constant
from relay_tune.ir.structural import first_difference
from relay_tune.ir.traversal import post_order
from relay_tune.runtime.data_values import data_value, list_items, list_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.std import prelude

ROWS = np.arange(12, dtype="float32").reshape(3, 4)
WEIGHT = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)


def run(function: RelayFunction, *inputs: Any) -> Any:
    values = (list_value(item) if isinstance(item, list) else item for item in inputs)
    return python(interpret(function.module, *values))


def python(value: Any) -> Any:
    match value:
        case tuple():
            return tuple(python(part) for part in value)
        case ConstructorValue():
            return [python(item) for item in list_items(value)]
        case np.ndarray() if value.shape == ():
            return value.item()
        case _:
            return value


def same(function: RelayFunction, *inputs: Any) -> None:
    """The program and the Python function that it was written as agree."""
    np.testing.assert_equal(run(function, *inputs), function.function(*inputs))


@relay
def collatz(n: int):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@relay
def sum_until(xs: list[float], limit: float):
    total, count = 0.0, 0
    for x in xs:
        if x < 0:
            continue
        if total + x > limit:
            return (total, count, x)
        total += x
        count += 1
    return (total, count, 0.0)


@relay
def nested_ranges(n: int):
    total = 0
    for i in range(n):
        for j in range(10, i, -3):
            if j == 4:
                break
            total += i * j
    return total


@relay
def search(n: int):
    found = -1
    while True:
        n += 7
        if n % 5 == 0:
            found = n
            break
        if n > 60:
            break
    return (n, found)


@relay
def early_returns(a: int, b: int):
    if a < 0:
        return -a
    if b < 0:
        if a > 10:
            return a - b
        b = -b
    elif b == 0:
        return 99
    result = a * 10
    return result + b


@relay
def return_from_inner_loop(n: int):
    for i in range(n):
        for j in range(n):
            if i * j == 12:
                return i * 100 + j
            if j > i:
                break
    return -1


@relay
def logic(a: int, b: int):
    both = a < b < 10 and not a == 3
    either = a == b or b == 7
    smaller = a if both else b
    return (both, either, smaller, max(a, b), min(a, 2), abs(a - b))


@relay
def swapped(a: int, b: int):
    a, b = b, a
    (c, d), e = (a + 1, b), a
    f = g = c + d
    return (a, b, c, d, e, f, g)


@relay
def inner_function(n: int):
    scale = n + 1

    def power(k: int):
        if k == 0:
            return 1
        return scale * power(k - 1)

    twice = lambda f, x: f(f(x))  # noqa: E731
    return (power(3), twice(lambda x: x * scale, 2))


@relay
def lists(xs: list[int]):
    doubled = [x * 2 for x in xs if x > 1]
    longer = [7, 8, *doubled]
    return (doubled, longer, len(longer), longer[2])


@relay
def unrolled(x: int):
    total = 0
    for factor, offset in ((1, 2), (3, 4), (5, 6)):
        total += x * factor + offset
    return total


SAMPLES: list[tuple[RelayFunction, list[tuple[Any, ...]]]] = [
    (collatz, [(1,), (7,), (27,)]),
    (sum_until, [([], 1.0), ([1.0, -2.0, 4.0], 9.0), ([3.0, 4.0, 5.0], 8.0)]),
    (nested_ranges, [(0,), (3,), (9,)]),
    (search, [(0,), (1,), (59,)]),
    (early_returns, [(-3, 1), (20, -1), (2, -1), (2, 0), (2, 5)]),
    (return_from_inner_loop, [(3,), (5,), (7,)]),
    (logic, [(1, 2), (3, 7), (5, 5), (7, 12)]),
    (swapped, [(1, 2)]),
    (inner_function, [(0,), (3,)]),
    (lists, [([1, 2, 3],)]),
    (unrolled, [(2,)]),
]


@pytest.mark.parametrize(
    ("function", "inputs"),
    [pytest.param(f, i, id=f"{f.name}{i}") for f, samples in SAMPLES for i in samples],
)
def test_control_flow(function: RelayFunction, inputs: tuple[Any, ...]) -> None:
    same(function, *inputs)


@pytest.mark.parametrize("function", [f for f, _ in SAMPLES], ids=lambda f: f.name)
def test_programs_are_written_and_read_back(function: RelayFunction) -> None:
    module = function.module
    assert first_difference(parse(module.astext()), module) is None


@relay
def arithmetic(x: Tensor[(3, 4), "float32"], w: Tensor[(2, 4), "float32"]):
    y = x @ w.T + np.ones((1, 2), "float32") * 2
    return ((y - 1) / 3, -y, y**2, np.maximum(y, 0), np.tanh(y).sum(axis=1, keepdims=True))


@relay
def indexing(x: Tensor[(3, 4), "float32"]):
    return (x[0], x[1, 2], x[:, 1:3], x[-1], x[..., 0], x[None, 2], x[::2], x[:, ::-1])


@relay
def shapes(x: Tensor[(3, 4), "float32"]):
    pair = (x, 5)
    return (
        len(x),
        x.shape[1],
        pair[1],
        pair[0].T,
        x.reshape(2, 6),
        x.reshape((4, -1)),
        x.transpose(1, 0),
        x.mean(axis=0),
        x.astype("int32"),
    )


@relay
def numpy_functions(x: Tensor[(3, 4), "float32"]):
    joined = np.concatenate((x, x), axis=1)
    left, right = np.split(joined, 2, axis=1)
    return (np.where(x > 5, x, 0), joined, np.exp(left - right), np.clip(x, 1, 3), np.max(x))


@pytest.mark.parametrize("function", [indexing, shapes, numpy_functions], ids=lambda f: f.name)
def test_tensors_as_in_numpy(function: RelayFunction) -> None:
    np.testing.assert_equal(run(function, ROWS), function.function(ROWS))


def test_arithmetic_of_tensors() -> None:
    expected = arithmetic.function(ROWS, WEIGHT)
    for found, wanted in zip(run(arithmetic, ROWS, WEIGHT), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_numbers_take_the_element_type_of_tensors() -> None:
    @relay
    def shifted(x: Tensor[(2,), "float16"], n: "int64"):
        return (x + 1, 2 * x, n - 1, n < 3)

    types = [part.dtype for part in run_raw(shifted, np.ones(2, "float16"), np.int64(3))]
    assert types == ["float16", "float16", "int64", "bool"]


def run_raw(function: RelayFunction, *inputs: Any) -> Any:
    return interpret(function.module, *inputs)


def test_product_with_a_transpose_is_a_dense_layer() -> None:
    assert "nn.dense(%x, %w)" in arithmetic.module.astext()


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


@relay_model
class Network:
    weight: Tensor[(2, 4), "float32"]
    bias: "Tensor[(2), float32]"

    def hidden(self, x: Tensor[(3, 4), "float32"]):
        return np.tanh(x @ self.weight.T + self.bias)

    def main(self, x: Tensor[(3, 4), "float32"]):
        return self.hidden(x).sum(axis=0)


def test_models_have_weights() -> None:
    bias = np.ones(2, "float32")
    network = Network(weight=WEIGHT, bias=bias)
    expected = np.tanh(ROWS @ WEIGHT.T + bias).sum(axis=0)
    np.testing.assert_allclose(run(network.main, ROWS), expected, rtol=1e-5)
    assert set(network.main.module.functions) == {"main", "hidden"}


def test_models_draw_weights() -> None:
    first, again, other = (Network.random(seed) for seed in (1, 1, 2))
    np.testing.assert_equal(first.weight, again.weight)
    assert not np.array_equal(first.weight, other.weight)
    assert np.abs(first.weight).max() <= 0.5


def test_models_check_their_weights() -> None:
    with pytest.raises(InputError, match=r"The weight bias is Tensor\[\(3,\), float32\]"):
        Network(weight=WEIGHT, bias=np.ones(3, "float32"))
    with pytest.raises(InputError, match="has the weights weight, bias"):
        Network(weight=WEIGHT)


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


def test_programs_do_not_run_in_python() -> None:
    with pytest.raises(InputError, match="cannot be called as a Python function"):
        collatz(3)


def test_functions_without_a_file() -> None:
    scope: dict[str, Callable[..., Any]] = {}
    exec("def made(x):\n    return x", scope)
    with pytest.raises(InputError, match="source of made is not known"):
        relay(scope["made"]).module
