"""Values are written once where they are known, and again where they are not."""

from __future__ import annotations

from relay_tune.codegen.function_writer import FunctionWriter

KEY = ("a sum", 1, 2)


def sums(writer: FunctionWriter, made: list[str]) -> str:
    """A sum by its key; `made` is told when it is written."""

    def make() -> str:
        made.append("again" if made else "first")
        return writer.pure("add i64 1, 2")

    return writer.once(KEY, make)


def test_what_is_known_by_its_key_is_made_once() -> None:
    writer, made = FunctionWriter(), list[str]()
    first = sums(writer, made)
    writer.push_scope()
    assert sums(writer, made) == first
    assert made == ["first"]
    assert writer.text().count("add i64 1, 2") == 1


def test_what_was_made_in_a_scope_is_forgotten_with_it() -> None:
    writer, made = FunctionWriter(), list[str]()
    writer.push_scope()
    inside = sums(writer, made)
    writer.pop_scope()
    assert sums(writer, made) != inside
    assert made == ["first", "again"]
    assert writer.text().count("add i64 1, 2") == 2
