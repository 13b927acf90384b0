"""What a match leaves out."""

import pytest

from relay_tune.ir.parser.parse import parse
from relay_tune.typing.match_cases import unmatched_pattern

TYPES = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
type Color { Red, Green, Blue }
type Box { Inside(Color) }
type Sum[A] { Number(A), Plus(Sum[A], Sum[A]), Empty }
"""


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("_ => 1", None),
        ("%x => 1", None),
        ("Cons(_, _) => 1, Nil => 2", None),
        ("Nil => 1, _ => 2", None),
        ("Cons(_, _) => 1", "Nil"),
        ("Nil => 1", "Cons(_, _)"),
        ("", "_"),
        ("() => 1", None),
        ("(Nil, ()) => 1", "(Cons(_, _), _)"),
        ("Cons(_, Cons(_, Cons(_, _))) => 1, Nil => 2", "Cons(_, Cons(_, Nil))"),
        ("Cons(Red, Nil) => 1, Cons(_, Cons(Red, _)) => 2, Nil => 3", "Cons(Red, Cons(Green, _))"),
        ("Cons(_, Nil) => 1, Nil => 2", "Cons(_, Cons(_, _))"),
        ("Cons(Red, _) => 1, Cons(Blue, _) => 2, Nil => 3", "Cons(Green, _)"),
        ("(_, Nil) => 1", "(_, Cons(_, _))"),
        ("(Red, _) => 1, (_, Nil) => 2", "(Green, Cons(_, _))"),
        ("(Red, _) => 1, (_, Nil) => 2, (_, Cons(_, _)) => 3", None),
        ("((Red, _), _) => 1, ((_, Red), _) => 2, ((_, _), Red) => 3", "((Green, Green), Green)"),
        ("Inside(_) => 1", None),
        ("Inside(Red) => 1, Inside(Blue) => 2", "Inside(Green)"),
        ("Plus(Empty, _) => 1, Plus(_, Empty) => 2, %a => 3", None),
        (
            "Plus(Empty, _) => 1, Plus(_, Empty) => 2, Number(_) => 3, Empty => 4",
            "Plus(Number(_), Number(_))",
        ),
        ("Cons(Nil, _) => 1, Nil => 2", "Cons(Cons(_, _), _)"),
        ("%x => 1, Red => 2", None),
        ("(%x,) => 1", None),
        ("(Nil,) => 1", "(Cons(_, _),)"),
    ],
)
def test_unmatched(clauses, expected):
    module = parse(f"{TYPES}def @main(%v: _) {{ match (%v) {{ {clauses} }} }}")
    assert unmatched_pattern(module.main.body, module) == expected
