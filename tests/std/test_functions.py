"""Every function of the prelude, through the interpreter, against the same in Python."""

from __future__ import annotations

from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from relay_tune.errors import RelayError
from relay_tune.frontend.relay_text import parse
from relay_tune.runtime.data_values import data_value, list_items, list_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.std import prelude
from relay_tune.typing.infer import infer_types

LISTS = [[], [7], [3, 1, 2], [5, 5, 0, 9, 4]]
SOME = LISTS[1:]


def run(body: str, *inputs: Any, params: str = "%xs: List[int32]") -> Any:
    """The value of `body`, a text that uses the prelude, in Python."""
    text = f"def @main({params}) {{ {body} }}"
    module = infer_types(parse(text, base=prelude()))
    return python(interpret(module, *(value(item) for item in inputs)))


def value(item: Any) -> Any:
    if isinstance(item, list):
        return list_value([value(part) for part in item])
    return np.int32(item) if isinstance(item, int) else item


def python(result: Any) -> Any:
    match result:
        case tuple():
            return tuple(python(part) for part in result)
        case ConstructorValue() if result.constructor.name in ("Cons", "Nil"):
            return [python(item) for item in list_items(result)]
        case ConstructorValue():
            return (result.constructor.name, *(python(part) for part in result.fields))
        case _:
            return result.item()


def nat(n: int) -> ConstructorValue:
    module = prelude("nat")
    result = data_value(module, "zero")
    for _ in range(n):
        result = data_value(module, "succ", result)
    return result


def count(result: Any) -> int:
    steps = 0
    while result[0] == "succ":
        steps, result = steps + 1, result[1]
    return steps


def test_id() -> None:
    assert run("@id(%xs)", [1, 2]) == [1, 2]


def test_compose_applies_the_second_function_first() -> None:
    functions = "fn (%x: int32) { %x * 2 }, fn (%x: int32) { %x + 1 }"
    assert run(f"@compose({functions})(%x)", 5, params="%x: int32") == 12


def test_flip() -> None:
    body = "@flip(fn (%a: int32, %b: bool) { (%a, %b) })(True, 3)"
    assert run(body, params="") == (3, True)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_iterate(n: int) -> None:
    body = "@iterate(fn (%x: int32) { %x * 2 }, %n)(1)"
    assert run(body, n, params="%n: int32") == 2**n


@pytest.mark.parametrize("xs", SOME)
def test_hd_and_tl(xs: list[int]) -> None:
    assert run("(@hd(%xs), @tl(%xs))", xs) == (xs[0], xs[1:])


@pytest.mark.parametrize("name", ["hd", "tl", "foldr1", "reduce"])
def test_partial_functions_say_that_nothing_fits(name: str) -> None:
    is_fold = name in ("foldr1", "reduce")
    call = f"@{name}(fn (%x: int32, %y: int32) {{ %x }}, %xs)" if is_fold else f"@{name}(%xs)"
    with pytest.raises(RelayError, match="No clause of the match fits"):
        run(call, [])


@pytest.mark.parametrize("xs", SOME)
def test_nth_and_update(xs: list[int]) -> None:
    for n in range(len(xs)):
        changed = [*xs[:n], 8, *xs[n + 1 :]]
        expected = (xs[n], changed)
        body = "(@nth(%xs, %n), @update(%xs, %n, 8))"
        assert run(body, xs, n, params="%xs: List[int32], %n: int32") == expected


@pytest.mark.parametrize("xs", LISTS)
def test_insert_and_erase(xs: list[int]) -> None:
    params = "%xs: List[int32], %n: int32"
    for n in range(len(xs) + 1):
        assert run("@insert(%xs, %n, 8)", xs, n, params=params) == [*xs[:n], 8, *xs[n:]]
    for n in range(len(xs)):
        assert run("@erase(%xs, %n)", xs, n, params=params) == [*xs[:n], *xs[n + 1 :]]


@pytest.mark.parametrize("xs", SOME)
def test_reduce_joins_neighbours_in_order(xs: list[int]) -> None:
    first = "fn (%x: int32, %y: int32) { %x * 10 + %y }"
    body = f"(@pairwise({first}, %xs), @reduce(fn (%x: int32, %y: int32) {{ %x + %y }}, %xs))"
    pairs = [xs[n] * 10 + xs[n + 1] if n + 1 < len(xs) else xs[n] for n in range(0, len(xs), 2)]
    assert run(body, xs) == (pairs, sum(xs))


@pytest.mark.parametrize("xs", LISTS)
def test_length_sum_and_rev(xs: list[int]) -> None:
    assert run("(@length(%xs), @sum(%xs), @rev(%xs))", xs) == (len(xs), sum(xs), xs[::-1])


@pytest.mark.parametrize("xs", LISTS)
def test_map_and_filter(xs: list[int]) -> None:
    body = "(@map(fn (%x: int32) { %x < 4 }, %xs), @filter(fn (%x: int32) { %x < 4 }, %xs))"
    assert run(body, xs) == ([x < 4 for x in xs], [x for x in xs if x < 4])


@pytest.mark.parametrize("xs", LISTS)
def test_folds_go_from_their_side(xs: list[int]) -> None:
    body = "(@foldl(fn (%a: int32, %x: int32) { %a * 2 - %x }, 1, %xs), {})"
    left = reduce(lambda a, x: a * 2 - x, xs, 1)
    right = reduce(lambda a, x: a * 2 - x, reversed(xs), 1)
    right_fold = "@foldr(fn (%x: int32, %a: int32) { %a * 2 - %x }, 1, %xs)"
    assert run(body.replace("{}", right_fold), xs) == (left, right)


@pytest.mark.parametrize("xs", SOME)
def test_foldr1(xs: list[int]) -> None:
    expected = reduce(lambda a, x: x - a, reversed(xs))
    assert run("@foldr1(fn (%x: int32, %y: int32) { %x - %y }, %xs)", xs) == expected


@pytest.mark.parametrize("xs", LISTS)
@pytest.mark.parametrize("ys", LISTS)
def test_concat_and_zip(xs: list[int], ys: list[int]) -> None:
    params = "%xs: List[int32], %ys: List[int32]"
    expected = (xs + ys, list(zip(xs, ys, strict=False)))
    assert run("(@concat(%xs, %ys), @zip(%xs, %ys))", xs, ys, params=params) == expected


@pytest.mark.parametrize("xs", LISTS)
def test_accumulating_maps_keep_the_order_of_the_list(xs: list[int]) -> None:
    step = "fn (%total: int32, %x: int32) { (%total + %x, %total * %x) }"
    before = [0, *accumulate(xs)][: len(xs)]
    after = [0, *accumulate(xs[::-1])][: len(xs)][::-1]
    from_left = [total * x for total, x in zip(before, xs, strict=True)]
    from_right = [total * x for total, x in zip(after, xs, strict=True)]
    body = f"(@map_accuml({step}, 0, %xs), @map_accumr({step}, 0, %xs))"
    assert run(body, xs) == ((sum(xs), from_left), (sum(xs), from_right))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_unfolds(n: int) -> None:
    step = "fn (%i: int32) { if (%i == 0) { None } else { Some((%i - 1, %i * %i)) } }"
    squares = [i * i for i in range(n, 0, -1)]
    body = f"(@unfoldr({step}, %n), @unfoldl({step}, %n))"
    assert run(body, n, params="%n: int32") == (squares, squares[::-1])


def tree(item: int, *subtrees: Any) -> ConstructorValue:
    return data_value(prelude("Tree"), "Rose", item, list_value(subtrees))


def test_tmap_and_size() -> None:
    shape = tree(1, tree(2, tree(3)), tree(4))
    body = "(@tmap(fn (%x: int32) { %x * 10 }, %tree), @size(%tree))"
    leaf = ("Rose", 40, [])
    expected = ("Rose", 10, [("Rose", 20, [("Rose", 30, [])]), leaf])
    assert run(body, shape, params="%tree: Tree[int32]") == (expected, 4)


def test_nat_arithmetic() -> None:
    double, total = run(
        "(@nat_double(%a), @nat_add(%a, %b))", nat(3), nat(2), params="%a: nat, %b: nat"
    )
    assert (count(double), count(total)) == (6, 5)


@pytest.mark.parametrize("n", [0, 2])
def test_nat_nth_and_update(n: int) -> None:
    xs = [3, 1, 2]
    changed = [*xs[:n], 8, *xs[n + 1 :]]
    body = "(@nat_nth(%xs, %n), @nat_update(%xs, %n, 8))"
    assert run(body, xs, nat(n), params="%xs: List[int32], %n: nat") == (xs[n], changed)


@pytest.mark.parametrize("n", [0, 3])
def test_nat_iterate(n: int) -> None:
    body = "@nat_iterate(fn (%x: int32) { %x * 2 }, %n)(1)"
    assert run(body, nat(n), params="%n: nat") == 2**n


def test_lists_may_be_long() -> None:
    numbers = list(range(4_000))
    body = "(@sum(%xs), @length(@map(fn (%x: int32) { %x + 1 }, %xs)), @sum(@concat(%xs, %xs)))"
    assert run(body, numbers) == (sum(numbers), len(numbers), 2 * sum(numbers))
