"""Loops, branches and functions of Python mean in Relay what they mean in Python."""

# The programs use names that Relay knows and Python does not.
# ruff: noqa: B007, B018, F722, F821, SIM201, UP037

from __future__ import annotations

from typing import Any

import pytest

from relay_tune.frontend.python.relay_function import RelayFunction, relay
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.structural import first_difference
from tests.frontend.python.running import same


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
