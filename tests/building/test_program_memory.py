"""Objects of native programs are freed."""

import numpy as np

from benchmarks.language_runtime import ALLOCATING
from tests.building.running_programs import LIST, built
from tests.resident_memory import resident_bytes


def test_long_lists_are_made_and_freed() -> None:
    text = (
        LIST
        + """
def @make(%n: int32, %l: List[int32]) -> List[int32] {
  if (%n < 1) { %l } else { @make(%n - 1, Cons(%n, %l)) }
}
def @length(%l: List[int32], %n: int32) -> int32 {
  match (%l) { Cons(_, %t) => { @length(%t, %n + 1) }, Nil => { %n }, }
}
def @main(%n: int32) {
  let %l = @make(%n, Nil);
  (@length(%l, 0), @length(%l, 1))
}
"""
    )
    _, model = built(text)
    assert model(2_000_000) == (2_000_000, 2_000_001)


def test_memory_of_a_loop_stays_flat() -> None:
    _, model = built(ALLOCATING)
    x = np.zeros(64, "float32")
    model(1000, x)
    before = resident_bytes()
    model(1_000_000, x)
    for _ in range(100):
        model(1000, x)
    assert resident_bytes() - before < 2000 << 10


def test_a_cell_that_contains_itself_is_freed() -> None:
    text = """
type Node { Link(ref(Node), Tensor[(1024), float32]), End, }
def @main(%x: Tensor[(1024), float32]) {
  let %cell = ref(End);
  ref_write(%cell, Link(%cell, %x));
  match (ref_read(%cell)) { Link(_, %y) => { %y }, End => { %x }, }
}
"""
    _, model = built(text)
    x = np.ones(1024, "float32")
    model(x)
    before = resident_bytes()
    for _ in range(3000):
        model(x)
    assert resident_bytes() - before < 3000 << 10
