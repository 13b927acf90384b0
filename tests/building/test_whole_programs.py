"""Programs as a newcomer writes them, with several constructs at once, beside the interpreter."""

import numpy as np

from relay_tune.building.build import build
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.std import prelude
from tests.properties.programs.compare import assert_same_value


def check(text: str, *inputs: object, uses: tuple[str, ...] = ()) -> None:
    module = parse('#[version = "0.0.5"]\n' + text, base=prelude(*uses))
    assert_same_value(build(module, threads=1)(*inputs), interpret(module, *inputs))


def test_a_queue_of_two_lists() -> None:
    text = """
type Queue[A] { Q(List[A], List[A]), }
def @push[A](%q: Queue[A], %x: A) -> Queue[A] {
  match (%q) { Q(%front, %back) => Q(%front, Cons(%x, %back)) }
}
def @pop[A](%q: Queue[A]) -> (Option[A], Queue[A]) {
  match (%q) {
    Q(Nil, Nil) => (None, %q),
    Q(Nil, %back) => @pop(Q(@rev(%back), Nil)),
    Q(Cons(%x, %rest), %back) => (Some(%x), Q(%rest, %back)),
  }
}
def @run(%n: int32, %q: Queue[int32], %sum: int32) -> int32 {
  if (%n == 0) { %sum } else {
    let %popped = @pop(%q);
    match (%popped.0) {
      None => %sum,
      Some(%x) => @run(%n - 1, @push(@push(%popped.1, %x + 1), %x * 2), %sum + %x),
    }
  }
}
def @main(%n: int32) { @run(%n, Q(Cons(1, Nil), Nil), 0) }
"""
    check(text, np.int32(50), uses=("rev", "Option"))


def test_patterns_two_constructors_deep_that_rebuild_what_they_match() -> None:
    text = """
type Sum { Num(float32), Add(Sum, Sum), Neg(Sum), }
def @left(%s: Sum) -> Sum {
  match (%s) {
    Add(Num(%a), Num(%b)) => Num(%a + %b),
    Neg(Neg(%x)) => @left(%x),
    Add(%x, Add(%y, %z)) => @left(Add(Add(@left(%x), @left(%y)), %z)),
    Add(%x, %y) => Add(@left(%x), @left(%y)),
    _ => %s,
  }
}
def @main(%x: float32) {
  @left(Add(Num(%x), Add(Neg(Neg(Num(2f))), Add(Num(%x), Neg(Num(3f))))))
}
"""
    check(text, np.float32(1.5))


def test_recursion_through_a_reference() -> None:
    text = """
def @main(%n: int32) {
  let %cell = ref(fn (%k: int32) -> int32 { 0 });
  let %factorial = fn (%k: int32) -> int32 {
    if (%k < 2) { 1 } else { let %f = ref_read(%cell); %k * %f(%k - 1) }
  };
  ref_write(%cell, %factorial);
  %factorial(%n)
}
"""
    check(text, np.int32(7))
