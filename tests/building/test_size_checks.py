"""Types that say more of a size than is known of the value: compared, or refused."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import RelayError
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.runtime.data_values import list_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.model import Model
from relay_tune.std import prelude
from tests.properties.programs.compare import assert_same_value


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, "float32")


def built(text: str) -> tuple[Module, Model]:
    module = parse(text, base=prelude("List", "map", "length"))
    return module, build(module, threads=1)


OPEN = "Tensor[(?), float32]"
CHECKED = {
    "parameter": (
        f"def @g(%x: Tensor[(3), float32]) {{ sum(%x) }} def @main(%x: {OPEN}, %n: int64) "
        "{ (@g(%x), %n) }",
        (ones(3), np.int64(1)),
        (ones(2), np.int64(1)),
    ),
    "symbol of two parameters": (
        "def @g(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { %x + %y } "
        f"def @main(%p: ({OPEN}, {OPEN})) {{ (@g(%p.0, %p.1), 1) }}",
        ((ones(4), ones(4)),),
        ((ones(2), ones(3)),),
    ),
    "multiple of a symbol": (
        "def @g(%x: Tensor[(2 * n), float32], %y: Tensor[(n), float32]) { sum(%x) + sum(%y) } "
        f"def @main(%p: ({OPEN}, {OPEN})) {{ (@g(%p.0, %p.1), 1) }}",
        ((ones(4), ones(2)),),
        ((ones(4), ones(3)),),
    ),
    "result": (
        "def @grow(%i: int32, %x: Tensor[(?, 1), float32]) -> Tensor[(3, 1), float32] "
        "{ if (%i < 1) { %x } else { @grow(%i - 1, concatenate((%x, %x), axis=0)) } } "
        "def @main(%n: int32, %x: Tensor[(3, 1), float32]) { @grow(%n, %x) }",
        (0, ones(3, 1)),
        (1, ones(3, 1)),
    ),
    "result of a call at the end": (
        f"def @h(%x: {OPEN}, %k: int32) -> {OPEN} "
        "{ if (%k == 1) { concatenate((%x, %x), axis=0) } else { %x } } "
        "def @g(%x: Tensor[(n), float32], %k: int32) -> Tensor[(n), float32] { @h(%x, %k) } "
        f"def @main(%x: {OPEN}, %k: int32) {{ @g(%x, %k) }}",
        (ones(3), 2),
        (ones(3), 1),
    ),
    "field": (
        f"type Box {{ Full(Tensor[(3), float32]) }} def @main(%x: {OPEN}, %k: bool) {{ "
        "let %b = if (%k) { Full(%x) } else { Full(zeros(shape=[3])) }; "
        "match (%b) { Full(%y) => sum(%y) } }",
        (ones(3), True),
        (ones(4), True),
    ),
    "variable of a pattern": (
        f"def @main(%l: List[{OPEN}]) {{ match (%l) {{ "
        "Cons(%x: Tensor[(3), float32], _) => sum(%x), Nil => 0f } }",
        (list_value([ones(3)]),),
        (list_value([ones(4)]),),
    ),
    "symbol of the function around": (
        "def @f(%x: Tensor[(n), float32]) { fn (%y: Tensor[(n), float32]) { %x + %y } } "
        f"def @main(%l: List[{OPEN}], %z: Tensor[(3), float32]) {{ "
        "match (%l) { Cons(%x, _) => @f(%z)(%x), Nil => %z } }",
        (list_value([ones(3)]), ones(3)),
        (list_value([ones(4)]), ones(3)),
    ),
}


@pytest.mark.parametrize("name", CHECKED)
def test_sizes_are_compared_when_the_program_runs(name: str) -> None:
    text, right, wrong = CHECKED[name]
    module, model = built(text)
    for _ in range(2):
        assert_same_value(model(*right), interpret(module, *right))
        with pytest.raises(RelayError, match="has another size on axis 0 than"):
            model(*wrong)


REFUSED = {
    "list of any size for one of known size": (
        "def @s(%l: List[Tensor[(3), float32]]) -> float32 "
        "{ match (%l) { Cons(%x, %t) => sum(%x) + @s(%t), Nil => 0f } } "
        f"def @main(%l: List[{OPEN}]) {{ @s(%l) }}"
    ),
    "list of known size for one of any size": (
        f"def @s(%l: List[{OPEN}]) -> float32 "
        "{ match (%l) { Cons(%x, %t) => sum(%x) + @s(%t), Nil => 0f } } "
        "def @main(%l: List[Tensor[(3), float32]]) { @s(%l) }"
    ),
    "branches": (
        f"def @main(%l: List[Tensor[(3), float32]], %m: List[{OPEN}], %k: bool) {{ "
        "let %j = if (%k) { %l } else { %m }; match (%j) { Cons(%x, _) => sum(%x), Nil => 0f } }"
    ),
    "function of a known size": (
        f"def @main(%l: List[{OPEN}]) {{ @map(fn (%x: Tensor[(3), float32]) {{ sum(%x) }}, %l) }}"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_sizes_inside_of_data_must_be_the_same(name: str) -> None:
    with pytest.raises(RelayError, match="the sizes inside of it differ"):
        built(REFUSED[name])


def test_a_size_that_nothing_tells_is_refused() -> None:
    text = (
        f"def @main(%p: ({OPEN}, bool)) {{ let %y: Tensor[(n), float32] = %p.0; "
        "let %f = fn (%k: int32) { if (%k < 1) { %y } else { %f(%k - 1) } }; %f(2) }"
    )
    with pytest.raises(RelayError, match="The size n is that of no parameter"):
        built(text)


WIDENED = {
    "cell": (
        "def @main(%x: Tensor[(n, 4), float32], %c: bool) { "
        "let %a: Tensor[(?, 4), float32] = %x; let %r = ref(%a); "
        "ref_write(%r, concatenate((%x, %x), axis=0)); (sum(ref_read(%r)), %c) }"
    ),
    "branches": (
        "def @main(%x: Tensor[(n, 4), float32], %c: bool) { "
        "let %a: Tensor[(?, 4), float32] = %x; "
        "sum(if (%c) { %a } else { concatenate((%x, %x), axis=0) }) }"
    ),
    "list": (
        "def @main(%x: Tensor[(n, 4), float32], %c: bool) { "
        "let %a: Tensor[(?, 4), float32] = %x; "
        "let %l = Cons(%a, Cons(concatenate((%x, %x), axis=0), Nil)); (@length(%l), %c) }"
    ),
}


@pytest.mark.parametrize("name", WIDENED)
def test_an_annotation_may_forget_sizes(name: str) -> None:
    module, model = built(WIDENED[name])
    for condition in (True, False):
        x = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
        assert_same_value(model(x, condition), interpret(module, x, condition))


def test_a_size_may_have_to_be_that_of_a_constant() -> None:
    """The weights are in the kernel, where no input says that there are four rows."""
    weights = 'ones(shape=[4, 3], dtype="float32")'
    product = f"nn.matmul(%x, {weights}, transpose_a=True)"
    module, model = built(f"def @main(%x: Tensor[(?, ?), float32]) {{ {product} }}")
    assert_same_value(model(ones(4, 2)), interpret(module, ones(4, 2)))
    with pytest.raises(RelayError, match="do not fit each other"):
        model(ones(3, 2))
