"""The functions of the prelude in native code, beside the interpreter."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.frontend.relay_text import parse
from relay_tune.runtime.data_values import list_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.std import prelude
from tests.properties.programs.compare import assert_same_value

STEP = "fn (%total: int32, %x: int32) { (%total + %x, %total * %x) }"
LESS = "fn (%i: int32) { if (%i == 0) { None } else { Some((%i - 1, %i * %i)) } }"
PLUS = "fn (%a: int32, %b: int32) { %a * 2 - %b }"
GROUPS = {
    "elements": "@hd(%xs), @tl(%xs), @nth(%xs, 1), @length(%xs), @update(%xs, 1, 8), @sum(%xs)",
    "changes": "@insert(%xs, 1, 8), @insert(%xs, @length(%xs), 8), @erase(%xs, 1)",
    "folds": f"@foldl({PLUS}, 1, %xs), @foldr({PLUS}, 1, %xs), @foldr1({PLUS}, %xs), "
    f"@pairwise({PLUS}, %xs), @reduce({PLUS}, %xs)",
    "lists": "@rev(%xs), @concat(%xs, %xs), @zip(%xs, @rev(%xs)), "
    "@filter(fn (%x: int32) { %x < 4 }, %xs), @map(fn (%x: int32) { (%x, %x) }, %xs)",
    "accumulation": f"@map_accuml({STEP}, 0, %xs), @map_accumr({STEP}, 0, %xs), "
    f"@unfoldr({LESS}, 4), @unfoldl({LESS}, 4)",
    "functions": "@compose(@rev, @tl)(%xs), @flip(@concat)(%xs, Nil), "
    "@iterate(@id, 3)(5), @iterate(fn (%x: int32) { %x * 3 }, 3)(5)",
    "trees": "@size(Rose(1, Cons(Rose(2, Nil), Nil))), "
    "@tmap(fn (%x: int32) { %x < 2 }, Rose(1, Cons(Rose(2, Nil), Nil)))",
    "natural numbers": "@nat_double(succ(zero)), @nat_add(succ(zero), succ(succ(zero))), "
    "@nat_nth(%xs, succ(zero)), @nat_update(%xs, succ(zero), 9), "
    "@nat_iterate(fn (%x: int32) { %x * 3 }, succ(succ(zero)))(5)",
}


@pytest.mark.parametrize("group", GROUPS)
def test_functions(group: str) -> None:
    text = f"def @main(%xs: List[int32]) {{ ({GROUPS[group]}) }}"
    module = parse(text, base=prelude())
    model = build(module, threads=1)
    for numbers in ([3, 1, 2], [5, 5, 0, 9, 4]):
        xs = list_value([np.int32(number) for number in numbers])
        assert_same_value(model(xs), interpret(module, xs))


def test_every_function_is_among_them() -> None:
    named = " ".join(GROUPS.values())
    assert all(f"@{name}" in named for name in prelude().functions)
