"""What a program takes from the prelude: what it names, with all that this uses, and no more."""

from __future__ import annotations

import pytest

from relay_tune.errors import InputError, ParseError
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.expr import Call, Function, GlobalVar, Var
from relay_tune.ir.module import Module
from relay_tune.ir.structural import first_difference
from relay_tune.ir.types import GlobalTypeVar, TypeCall, scalar_type
from relay_tune.std import prelude, with_prelude
from relay_tune.std.select import TEXTS
from relay_tune.typing.infer import infer_types

NAMES = (
    "id compose flip iterate hd tl nth length update insert erase map foldl foldr foldr1 pairwise "
    "reduce sum concat filter zip "
    "rev map_accumr map_accuml unfoldr unfoldl tmap size nat_double nat_add nat_nth nat_update "
    "nat_iterate"
).split()


def test_the_whole_prelude() -> None:
    assert set(prelude().functions) == set(NAMES)
    assert set(prelude().types) == {"Option", "List", "Tree", "nat"}


def test_the_whole_prelude_is_read_back_and_has_types() -> None:
    assert first_difference(parse(prelude().astext()), prelude()) is None
    assert all(function.type for function in infer_types(prelude()).functions.values())


@pytest.mark.parametrize("name", [*NAMES, "Option", "List", "Tree", "nat"])
def test_each_selection_is_complete(name: str) -> None:
    chosen = prelude(name)
    assert name in chosen.functions or name in chosen.types
    infer_types(parse(chosen.astext()))


def test_a_selection_has_no_more_than_needed() -> None:
    chosen = prelude("tmap")
    assert (set(chosen.functions), set(chosen.types)) == ({"tmap", "map"}, {"Tree", "List"})
    assert set(prelude("Tree").types) == {"Tree", "List"}
    assert not prelude("compose").types


def test_unknown_names_are_errors() -> None:
    with pytest.raises(InputError) as caught:
        prelude("lenght")
    assert caught.value.remedy == "Did you mean length?"


def test_a_text_cannot_define_again_what_it_takes() -> None:
    with pytest.raises(ParseError, match="@map is defined twice"):
        parse("def @map() { 1 }", base=prelude("map"))


def test_a_module_built_in_python_gets_what_it_mentions() -> None:
    numbers = Var("xs", TypeCall(GlobalTypeVar("List"), (scalar_type("int32"),)))
    module = Module.from_function(Function((numbers,), Call(GlobalVar("length"), (numbers,))))
    complete = with_prelude(module)
    assert (set(complete.functions), set(complete.types)) == ({"main", "length", "foldl"}, {"List"})
    assert infer_types(complete).main.type is not None


def test_definitions_of_the_module_win() -> None:
    own = parse("def @length() { 3 } def @main() { @length() }")
    assert with_prelude(own).functions == own.functions


def test_places_of_errors_have_their_text() -> None:
    sources = prelude("nat_nth").sources
    assert "match?" in sources["prelude/list.relay"]
    assert set(prelude().sources) == {f"prelude/{name}.relay" for name in TEXTS}
