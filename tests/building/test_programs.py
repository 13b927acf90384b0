"""Programs with control flow, closures, data types and references, beside the interpreter."""

import numpy as np
import pytest

from relay_tune.errors import InputError, RelayError
from relay_tune.runtime.data_values import data_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.values import ReferenceCell
from tests.building.running_programs import LIST, VECTOR, built, check
from tests.properties.programs.compare import assert_same_value


def test_a_recursive_function_of_scalars() -> None:
    text = """
def @sum(%n: int32, %acc: int32) -> int32 {
  if (%n < 1) { %acc } else { @sum(%n - 1, %acc + %n) }
}
def @main(%n: int32) { @sum(%n, 0) }
"""
    model = check(text, 10)
    assert model(1_000_000) == np.int64(500000500000).astype("int32")


@pytest.mark.parametrize("value", [-1.5, 0.0, 2.0])
def test_branches_share_what_stands_before_them(value: float) -> None:
    check(
        """
def @main(%x: float32) {
  %0 = exp(%x);
  %1 = if (%x < 1f) { (%0, %x) } else { (%x * %0, %0 + %0) };
  (%1.0 + %0, %1)
}
""",
        value,
    )


def test_functions_as_values() -> None:
    check(
        LIST
        + f"""
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {{
  match (%l) {{ Cons(%h, %t) => {{ Cons(%f(%h), @map(%f, %t)) }}, Nil => {{ Nil }}, }}
}}
def @twice(%x: float32) -> float32 {{ %x * 2f }}
def @main(%s: float32, %x: {VECTOR}) {{
  let %scale = fn (%y: {VECTOR}) {{ %y * %s }};
  let %again = fn (%y: {VECTOR}) {{ %scale(%scale(%y)) }};
  let %vectors = @map(%again, Cons(%x, Cons(%scale(%x), Nil)));
  let %numbers = @map(@twice, Cons(%s, Nil));
  let %choose = if (%s < 2f) {{ @twice }} else {{ fn (%a: float32) {{ %a + %s }} }};
  (%vectors, %numbers, @map(%choose, %numbers), @map(fn (%l) {{ Cons(%l, Nil) }}, %numbers))
}}
""",
        3.0,
        np.arange(4, dtype="float32"),
    )


def test_nested_patterns_and_tuples_in_data() -> None:
    text = (
        LIST
        + """
type Shape { Point, Circle(float32), Box((float32, (int32, Tensor[(2), float32]))), }
def @area(%s: Shape) -> float32 {
  match (%s) {
    Box((%w, (%n, %v))) => { %w * cast(%n, dtype="float32") + sum(%v) },
    Circle(%r) => { %r * %r },
    _ => { 0f },
  }
}
def @first(%l: List[List[Shape]]) -> float32 {
  match (%l) {
    Cons(Cons(Point, Nil), _) => { -1f },
    Cons(Cons(%s, Cons(Circle(%r), _)), %rest) => { @area(%s) + %r + @first(%rest) },
    Cons(Cons(%s, _), Nil) => { @area(%s) },
    _ => { -2f },
  }
}
def @main(%v: Tensor[(2), float32], %n: int32) {
  let %box = Box((2f, (%n, %v)));
  let %a = Cons(%box, Cons(Circle(3f), Nil));
  (@first(Cons(%a, Cons(Cons(%box, Nil), Nil))), @first(Cons(Cons(Point, Nil), Nil)),
   @first(Nil), @first(Cons(%a, Nil)), %box)
}
"""
    )
    check(text, np.array([1, 2], "float32"), 5)


def test_references() -> None:
    check(
        """
def @main(%n: int32, %x: Tensor[(2), float32]) {
  let %count = ref(0);
  let %state = ref((%x, 1f));
  let %loop = fn (%i: int32) -> int32 {
    if (%i < 1) { ref_read(%count) } else {
      ref_write(%count, ref_read(%count) + %i);
      let %old = ref_read(%state);
      ref_write(%state, (%old.0 * 2f, %old.1 + 1f));
      %loop(%i - 1)
    }
  };
  (%loop(%n), ref_read(%state))
}
""",
        7,
        np.ones(2, "float32"),
    )


def test_all_scalar_types_pass_through_data_and_calls() -> None:
    dtypes = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
    for dtype in dtypes.split():
        text = (
            LIST
            + f"""
def @pair(%a: {dtype}, %b: {dtype}) -> ({dtype}, {dtype}, List[{dtype}]) {{
  (%b, %a, Cons(%a, Cons(%b, Nil)))
}}
def @main(%a: {dtype}, %b: {dtype}) {{ (@pair(%a, %b), @pair(%b, %a).2) }}
"""
        )
        check(text, np.asarray(1, dtype), np.asarray(0, dtype))


def test_inputs_and_outputs_of_data_types() -> None:
    text = (
        LIST
        + """
def @reverse(%l: List[(int32, Tensor[(2), float32])], %r: List[(int32, Tensor[(2), float32])])
    -> List[(int32, Tensor[(2), float32])] {
  match (%l) { Cons(%h, %t) => { @reverse(%t, Cons(%h, %r)) }, Nil => { %r }, }
}
def @main(%l: List[(int32, Tensor[(2), float32])], %pair: (int32, (float32,))) {
  (@reverse(%l, Nil), %pair)
}
"""
    )
    module, model = built(text)
    value = data_value(module, "Nil")
    for number in range(5):
        value = data_value(module, "Cons", (number, np.full(2, number, "float32")), value)
    pair = (np.int32(3), (np.float32(4),))
    assert_same_value(model(value, pair), interpret(module, value, pair))
    with pytest.raises(InputError, match="Input 'l' must be List"):
        model(3, pair)
    with pytest.raises(InputError, match="tuple of 2"):
        model(value, (1, 2, 3))


def test_no_clause_fits() -> None:
    text = (
        LIST
        + """
def @main(%n: int32) {
  let %l = if (%n < 1) { Nil } else { Cons(%n, Nil) };
  match? (%l) { Cons(%h, _) => { %h }, }
}
"""
    )
    _, model = built(text)
    assert model(4) == 4
    with pytest.raises(RelayError, match=r"No clause of the match at .*:\d+:\d+ fits"):
        model(0)
    assert model(5) == 5


def test_nothing_follows_a_match_without_clauses() -> None:
    check(
        LIST
        + f"""
type Empty {{
}}
def @fold(%start: {VECTOR}, %list: List[Empty]) -> {VECTOR} {{
  match (%list) {{
    Cons(%head, %tail) => {{
      let %value: {VECTOR} = match? (%head) {{ }};
      @fold(%value, %tail)
    }},
    Nil => {{ %start }},
  }}
}}
def @main(%x: {VECTOR}) {{
  let %list: List[Empty] = Nil;
  @fold(%x, %list)
}}
""",
        np.arange(4, dtype="float32"),
    )


def test_what_stands_before_a_match_without_clauses_is_built() -> None:
    check(
        LIST
        + f"""
type Empty {{
}}
def @fold(%start: {VECTOR}, %list: List[Empty]) -> {VECTOR} {{
  match (%list) {{
    Cons(%head, %tail) => {{
      let %row = reshape(@fold(%start, %tail), newshape=[1, 4]);
      let %value: Tensor[(1, 4), float32] = match? (%head) {{ }};
      reshape(%value + %row, newshape=[4])
    }},
    Nil => {{ %start }},
  }}
}}
def @main(%x: {VECTOR}) {{
  let %list: List[Empty] = Nil;
  @fold(%x, %list)
}}
""",
        np.arange(4, dtype="float32"),
    )


def test_large_kernels_run_on_several_threads() -> None:
    text = """
def @loop(%n: int32, %x: Tensor[(256, 256), float32]) -> Tensor[(256, 256), float32] {
  if (%n < 1) { %x } else { @loop(%n - 1, tanh(nn.dense(%x, %x))) }
}
def @main(%n: int32, %x: Tensor[(256, 256), float32]) { @loop(%n, %x) }
"""
    module, model = built(text, threads=2)
    x = np.random.default_rng(0).uniform(-0.05, 0.05, (256, 256)).astype("float32")
    np.testing.assert_allclose(model(3, x), interpret(module, 3, x), rtol=1e-4, atol=1e-5)


def test_cells_are_passed_in() -> None:
    text = """
def @main(%c: ref((int32, float32))) {
  let %old = ref_read(%c);
  ref_write(%c, (%old.0 + 1, %old.1));
  ref_read(%c)
}
"""
    _, model = built(text)
    assert model(ReferenceCell((np.int32(4), np.float32(0.5)))) == (5, 0.5)


def test_symbolic_sizes_of_inputs_are_the_same_wherever_they_stand() -> None:
    text = """
def @main(%n: int32, %x: Tensor[(b, 4), float32], %y: Tensor[(b), float32]) {
  let %loop = fn (%i: int32, %a: Tensor[(b, 4), float32]) -> Tensor[(b, 4), float32] {
    if (%i < 1) { %a } else { %loop(%i - 1, %a + expand_dims(%y, axis=1)) }
  };
  (%loop(%n, %x), %n)
}
"""
    module, model = built(text)
    for size in (3, 1, 3):
        x, y = np.ones((size, 4), "float32"), np.arange(size, dtype="float32")
        assert_same_value(model(2, x, y), interpret(module, 2, x, y))
    with pytest.raises(InputError, match="'y' must be"):
        model(2, np.ones((3, 4), "float32"), np.ones(2, "float32"))


def test_closures_of_several_types_from_one_function() -> None:
    check(
        """
def @keep(%n: int32) -> fn [S](S) -> (S, int32) { fn [S](%x: S) -> (S, int32) { (%x, %n) } }
def @main(%n: int32) { let %f = @keep(%n); (%f(True), %f(2f), %f(ones(shape=[3]))) }
""",
        7,
    )
