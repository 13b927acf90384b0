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
    with writer.scope():
        assert sums(writer, made) == first
    assert made == ["first"]
    assert writer.text().count("add i64 1, 2") == 1


def test_what_was_made_in_a_scope_is_forgotten_with_it() -> None:
    writer, made = FunctionWriter(), list[str]()
    with writer.scope():
        inside = sums(writer, made)
    assert sums(writer, made) != inside
    assert made == ["first", "again"]
    assert writer.text().count("add i64 1, 2") == 2


def test_sides_of_a_branch_meet_behind_them() -> None:
    writer, made = FunctionWriter(), list[str]()
    for side in writer.sides("%c", "if", "then", "else"):
        writer.line(side)
        sums(writer, made)
    assert made == ["first", "again"]
    for _ in writer.sides("%c", "run", "once"):
        writer.line("once")
    lines = [line.strip() for line in writer.text().splitlines()]
    assert lines == [
        "br i1 %c, label %if1.then, label %if1.else",
        *("if1.then:", "then", "%v2 = add i64 1, 2", "br label %if1.end"),
        *("if1.else:", "else", "%v3 = add i64 1, 2", "br label %if1.end"),
        "if1.end:",
        "br i1 %c, label %run4.once, label %run4.end",
        *("run4.once:", "once", "br label %run4.end"),
        "run4.end:",
    ]
