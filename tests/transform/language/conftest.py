"""What tests of the passes of the language share."""

from collections.abc import Callable

import pytest

import relay_tune.op  # noqa: F401
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types
from tests.properties.programs.compare import assert_same_value

LIST = """
type List[A] { Cons(A, List[A]), Nil }
type Nat { Succ(Nat), Zero }
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil }
}
def @sum(%l: List[int32]) -> int32 {
  match (%l) { Cons(%h, %t) => %h + @sum(%t), Nil => 0 }
}
def @plus(%a: Nat, %b: Nat) -> Nat {
  match (%a) { Succ(%p) => Succ(@plus(%p, %b)), Zero => %b }
}
def @count(%n: Nat) -> int32 { match (%n) { Succ(%p) => 1 + @count(%p), Zero => 0 } }
"""

Check = Callable[..., str]


@pytest.fixture
def answer_kept() -> Check:
    """answer_kept(step, text, *inputs): the text after a pass, which keeps the answer and type."""

    def check(step: Callable[[Module], Module], text: str, *inputs: object) -> str:
        prelude = LIST if any(word in text for word in ("List", "Cons", "Nat", "Zero")) else ""
        before = infer_types(parse(prelude + text))
        after = step(before)
        assert infer_types(after).main.type == before.main.type
        assert_same_value(interpret(after, *inputs), interpret(before, *inputs))
        return after.astext().partition("\n")[2].strip()

    return check


def main_of(text: str) -> str:
    """The text of @main alone."""
    return "def @main" + text.partition("def @main")[2].partition("\n}")[0]
