"""Copies of polymorphic functions for the types at which they are used."""

import numpy as np
import pytest

from relay_tune.errors import BuildError
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.language.specialize import Specialize
from relay_tune.typing.infer import infer_types
from tests.properties.programs.compare import assert_same_value

LIST = "type List[A] { Cons(A, List[A]), Nil }\n"
MAP = (
    LIST + "def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] { match (%l) {"
    " Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil } }\n"
)
ID = "def @id[A](%x: A) -> A { %x }\n"


def specialized(text: str) -> Module:
    return Specialize()(infer_types(parse(text)))


def test_recursive_function_has_one_copy_for_each_use() -> None:
    text = MAP + (
        "def @main(%l: List[float32]) {"
        " @map(fn (%x: bool) { %x }, @map(fn (%x: float32) { True }, %l)) }"
    )
    assert sorted(specialized(text).functions) == ["main", "map", "map_1"]


def test_equal_uses_share_a_copy() -> None:
    module = specialized(ID + "def @main(%x: int32) { (@id(%x), @id(2)) }")
    assert sorted(module.functions) == ["id", "main"]


def test_function_passed_by_name_is_copied_at_the_type_wanted() -> None:
    module = specialized(MAP + ID + "def @main(%l: List[bool]) { @map(@id, %l) }")
    assert "def @id(%x: bool) -> bool" in module.astext()


def test_let_bound_function_is_copied_within_its_scope() -> None:
    text = specialized(
        "def @main(%y: int32) { let %f = fn [A](%x: A) { (%x, %y) }; (%f(1f), %f(True)) }"
    ).astext()
    assert "let %f = fn (%x: float32)" in text and "let %f_1 = fn (%x_1: bool)" in text


def test_let_bound_function_that_is_not_used_disappears() -> None:
    text = specialized("def @main() { let %f = fn [A](%x: A) { %x }; 1 }").astext()
    assert "fn" not in text


def test_fields_of_a_tuple_are_copied_one_by_one() -> None:
    text = specialized(ID + "def @main() { let %t = (@id, 1); (%t.0(2f), %t.0(True)) }").astext()
    assert "(@id, 1)" in text and "(@id_1, 1)" in text


def test_polymorphic_main_is_refused() -> None:
    with pytest.raises(BuildError, match="@main is polymorphic"):
        specialized("def @main[A](%x: A) { %x }")


def test_polymorphic_parameter_is_refused() -> None:
    text = ID + (
        "def @both(%f: fn [A](A) -> A) -> (int32, bool) { (%f(1), %f(True)) }"
        "def @main() { @both(@id) }"
    )
    with pytest.raises(BuildError, match="used at several types"):
        specialized(text)


def test_ever_larger_types_end_in_an_error() -> None:
    text = (
        "def @grow[A](%x: A, %n: int32) -> int32 {"
        " if (%n < 1) { 0 } else { @grow((%x, %x), %n - 1) } }"
        "def @main() { @grow(1f, 2) }"
    )
    with pytest.raises(BuildError, match="more than 12 types"):
        Specialize(maximum_instances=12)(infer_types(parse(text)))


NESTED = "type Nested[A] { Flat(A), Deeper(Nested[%s]) }\n"
DEPTH = (
    "def @depth[A](%n: Nested[A]) -> int32 {"
    " match (%n) { Flat(%x) => 0, Deeper(%m) => @depth(%m) + 1 } }\n"
    "def @main(%x: int32) -> int32 { @depth(Flat(%x)) }"
)


@pytest.mark.parametrize("inner", ["(A, A)", "List[A]", "ref(A)", "fn (A) -> A"])
def test_recursion_at_types_that_grow_ends_at_once(inner: str) -> None:
    """Types that double take no time and no memory, and those that nest no stack."""
    module = infer_types(parse(LIST + NESTED % inner + DEPTH))
    with pytest.raises(BuildError, match="@depth is used at ever larger types"):
        Specialize()(module)
    assert interpret(module, np.int32(3)) == 0


def test_new_names_do_not_clash() -> None:
    module = specialized(ID + "def @id_1() { 0 }\ndef @main() { (@id(1), @id(2f), @id_1()) }")
    assert sorted(module.functions) == ["id", "id_1", "id_2", "main"]


MAKER = "def @keep[T](%n: T) -> fn [S](S) -> (S, T) { fn [S](%x: S) -> (S, T) { (%x, %n) } }\n"
COUNTING = (
    "def @keep(%c: ref(int32)) -> fn [S](S) -> S {"
    " ref_write(%c, ref_read(%c) + 1); fn [S](%x: S) -> S { %x } }\n"
)


def answers(text: str) -> tuple[object, object]:
    """What a program gives once it is specialised, and as it is written."""
    module = infer_types(parse(text))
    return interpret(Specialize()(module)), interpret(module)


def test_functions_that_return_polymorphic_functions_are_copied_for_what_they_return() -> None:
    text = MAKER + "def @main() { let %f = @keep(1); (%f(2f), %f(True), @keep(2f)(3)) }"
    assert sorted(specialized(text).functions) == ["keep", "keep_1", "keep_2", "main"]
    assert_same_value(*answers(text))


def test_closures_that_return_polymorphic_functions_are_copied_for_what_they_return() -> None:
    text = (
        "def @main() { let %make = fn (%n: int32) -> fn [S](S) -> (S, int32) {"
        " fn [S](%x: S) -> (S, int32) { (%x, %n) } };"
        " let %f = %make(1); (%f(2f), %f(True), %make(2)(3)) }"
    )
    assert_same_value(*answers(text))


def test_a_cell_holds_a_polymorphic_function_at_one_type() -> None:
    text = "def @main() { let %cell = ref(fn [A](%x: A) -> A { %x }); ref_read(%cell)(1) }"
    assert_same_value(*answers(text))


def test_constructors_that_are_values_are_copied_at_the_type_wanted() -> None:
    text = LIST + (
        "def @fold[A, B](%f: fn (A, B) -> B, %z: B, %l: List[A]) -> B {"
        " match (%l) { Cons(%h, %t) => %f(%h, @fold(%f, %z, %t)), Nil => %z } } "
        "def @join[A](%a: List[A], %b: List[A]) -> List[A] { @fold(Cons, %b, %a) } "
        "def @main() { let %c = Cons; (@join(%c(1, Nil), Cons(2, Nil)), %c(True, Nil),"
        " (Cons, 1).0(2f, Nil)) }"
    )
    specialized_text = specialized(text).astext()
    assert "fn (%p0: int32, %p1: List[int32]) -> List[int32]" in specialized_text
    assert_same_value(*answers(text))


def test_what_has_an_effect_is_evaluated_once() -> None:
    for result in ("(%f(1), ref_read(%c))", "ref_read(%c)"):
        text = f"{COUNTING}def @main() {{ let %c = ref(0); let %f = @keep(%c); {result} }}"
        assert_same_value(*answers(text))


def test_what_has_an_effect_is_not_copied() -> None:
    text = COUNTING + "def @main() { let %c = ref(0); let %f = @keep(%c); (%f(1), %f(True)) }"
    with pytest.raises(BuildError, match="used at several types"):
        specialized(text)
