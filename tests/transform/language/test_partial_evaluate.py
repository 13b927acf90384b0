"""What partial evaluation finds out, and what it leaves alone."""

import pytest

from relay_tune.ir.expr import Call, Function, Match
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.transform.language.partial_evaluate import PartialEvaluate
from relay_tune.typing.infer import infer_types
from tests.transform.language.conftest import Check

CONSTANT = {
    "tuple": "def @main() { let %t = (1, (2, 3)); %t.1.0 + %t.0 }",
    "constants": "def @main() { let %d = 2; let %r = %d * (%d + 1); %r * %r }",
    "decided branch": "def @main() { if (1 < 2) { 3 } else { 4 } }",
    "cell": "def @main() { let %r = ref(1); ref_write(%r, ref_read(%r) + 5); ref_read(%r) * 2 }",
    "decided clause": "def @main() { match (Cons(4, Nil)) { Cons(%h, _) => %h, Nil => 0 } }",
    "nested clause": (
        "def @main() { match ((Cons(4, Cons(5, Nil)), 1)) { (Cons(_, Cons(%b, _)), _) => %b,"
        " (_, %n) => %n } }"
    ),
    "closure": "def @main() { let %f = fn (%a: int32) { %a * 7 }; %f(%f(2)) }",
    "loop": (
        "def @loop(%n: int32, %a: int32) -> int32 {"
        " if (%n == 0) { %a } else { @loop(%n - 1, %a + %n) } } def @main() { @loop(10, 0) }"
    ),
    "loop that swaps": (
        "def @loop(%x: int32, %y: int32) -> int32 {"
        " if (%x == 0) { %y } else { @loop(%x - 1, %y + 1) } } def @main() { @loop(4, 1) }"
    ),
    "triangle number": (
        "def @main() { let %f = fn (%n: int32) -> int32 {"
        " if (%n == 0) { 0 } else { %n + %f(%n - 1) } }; %f(10) }"
    ),
    "double recursion": (
        "def @fib(%n: int32) -> int32 {"
        " if (%n < 2) { %n } else { @fib(%n - 1) + @fib(%n - 2) } } def @main() { @fib(7) }"
    ),
    "recursion on two numbers": (
        "def @difference(%x: int32, %y: int32) -> int32 { if (%x == 0) { %y } else {"
        " if (%y == 0) { %x } else { @difference(%x - 1, %y - 1) } } }"
        " def @main() { @difference(7, 3) }"
    ),
    "head of a list that is made": (
        "def @head[A](%l: List[A], %d: A) -> A { match (%l) { Cons(%h, _) => %h, Nil => %d } }"
        " def @main() { let %z = 5; @head(Cons(%z, Nil), 0) }"
    ),
    "joined lists": (
        "def @join(%a: List[int32], %b: List[int32]) -> List[int32] {"
        " match (%a) { Cons(%h, %t) => Cons(%h, @join(%t, %b)), Nil => %b } }"
        " def @main() { @sum(@join(Cons(1, Nil), Cons(2, Nil))) }"
    ),
    "element that is changed": (
        "def @set(%l: List[int32], %n: Nat, %v: int32) -> List[int32] { match ((%l, %n)) {"
        " (Cons(_, %t), Zero) => Cons(%v, %t), (Cons(%h, %t), Succ(%p)) => Cons(%h,"
        " @set(%t, %p, %v)), (Nil, _) => Nil } }"
        " def @main() { @sum(@set(Cons(1, Cons(2, Nil)), Succ(Zero), 9)) }"
    ),
    "global function on natural numbers": (
        "def @copy(%n: Nat) -> Nat { match (%n) { Succ(%p) => Succ(@copy(%p)), Zero => Zero } }"
        " def @main() { @count(@copy(Succ(Succ(Zero)))) }"
    ),
    "natural numbers": "def @main() { @count(@plus(Succ(Succ(Zero)), Succ(Zero))) }",
    "list": "def @main() { @sum(@map(fn (%a: int32) { %a * 2 }, Cons(3, Cons(4, Nil)))) }",
    "polymorphic function": "def @id[A](%x: A) -> A { %x } def @main() { (@id(2), @id(True)).0 }",
    "function in a cell": (
        "def @main() { let %r = ref(fn (%a: int32) { %a + 1 }); let %f = ref_read(%r); %f(41) }"
    ),
}


@pytest.mark.parametrize("name", CONSTANT)
def test_what_is_known_is_evaluated(name: str, answer_kept: Check) -> None:
    after = parse(answer_kept(PartialEvaluate(), CONSTANT[name]))
    assert list(after.functions) == ["main"]
    assert not any(isinstance(n, Function | Match) for n in post_order(after.main.body))
    calls = [node for node in post_order(after.main.body) if isinstance(node, Call)]
    assert not calls


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("def @main(%x: int32) { if (%x > 0) { 1 } else { 2 } }", (3,)),
        (
            "def @main(%c: bool) { let %r = ref(1); let %u = if (%c) { ref_write(%r, 2) } else {"
            " ref_write(%r, 3) }; ref_read(%r) }",
            (True,),
        ),
        (
            "def @main(%c: bool) { let %r = ref(1); let %u = if (%c) { ref_write(%r, 2) } else {"
            " () }; ref_read(%r) }",
            (False,),
        ),
        (
            "def @set(%r: ref(int32), %n: int32) -> int32 { if (%n == 0) { ref_write(%r, 9); 0 }"
            " else { @set(%r, %n - 1) } } "
            "def @main(%n: int32) { let %r = ref(1); let %u = @set(%r, %n); ref_read(%r) + %u }",
            (2,),
        ),
        (
            "def @main(%n: int32) { let %f = fn (%k: int32) -> int32 {"
            " if (%k == 0) { 0 } else { %k + %f(%k - 1) } }; %f(%n) }",
            (4,),
        ),
        (
            "def @main(%n: int32) { match (if (%n > 0) { Cons(%n, Nil) } else { Nil }) {"
            " Cons(%h, Nil) => %h, _ => 0 } }",
            (4,),
        ),
        (
            "def @main(%x: int32) { let %cells = (ref(%x), ref(2)); ref_write(%cells.0, 5);"
            " ref_write(%cells.1, ref_read(%cells.0) + %x); ref_read(%cells.1) }",
            (4,),
        ),
        (
            "def @twice(%f: fn (int32) -> int32, %n: int32) -> int32 { %f(%f(%n)) } "
            "def @main(%x: int32) { let %r = ref(0); let %bump = fn (%a: int32) {"
            " ref_write(%r, ref_read(%r) + %a); ref_read(%r) + %a };"
            " @twice(%bump, %x) + ref_read(%r) }",
            (4,),
        ),
    ],
)
def test_what_is_not_known_is_kept(
    text: str, inputs: tuple[object, ...], answer_kept: Check
) -> None:
    answer_kept(PartialEvaluate(), text, *inputs)


def test_effects_stay_in_their_order() -> None:
    text = "def @main(%r: ref(int32)) { ref_write(%r, 1); ref_write(%r, 2); ref_read(%r) }"
    after = PartialEvaluate()(infer_types(parse(text))).astext()
    assert after.index("ref_write(%r, 1)") < after.index("ref_write(%r, 2)")


def test_recursion_on_what_is_not_known_is_not_unfolded(answer_kept: Check) -> None:
    text = (
        "def @main(%x: int32) { @sum(@map(fn (%a: int32) { %a * 2 },"
        " if (%x > 0) { Cons(%x, Nil) } else { Nil })) }"
    )
    after = parse(answer_kept(PartialEvaluate(), text, 3))
    assert sorted(after.functions) == ["main", "map", "sum"]


def endless() -> Module:
    text = (
        "def @f(%n: int32) -> int32 { if (%n == 1000000) { 0 } else { @f(%n + 1) } } "
        "def @main() { @f(0) }"
    )
    return infer_types(parse(text))


def test_recursion_that_does_not_get_smaller_is_left_for_run_time() -> None:
    assert "@f(" in PartialEvaluate()(endless()).astext().partition("def @main")[2]


def test_number_of_unfoldings_is_limited() -> None:
    module = infer_types(
        parse(
            "def @f(%n: int32) -> int32 { if (%n < 2) { 1 } else { @f(%n - 1) + @f(%n - 2) } } "
            "def @main() { @f(25) }"
        )
    )
    after = PartialEvaluate(maximum_unfoldings=50)(module)
    assert sum(1 for _ in post_order(after.main)) < 500
