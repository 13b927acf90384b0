"""Whether the clauses of a `match` cover all values, and if not, which pattern they miss.

A matrix of patterns is specialised by constructor, as in L. Maranget, "Warnings for pattern
matching", Journal of Functional Programming 17(3), 2007, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.expr import Constructor, ConstructorPattern, Match, Pattern, TuplePattern
from relay_tune.ir.module import Module
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.state import InferenceState

Row = tuple[Pattern | None, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """A pattern that no clause matches: `constructor` (or a tuple, if None) with its parts.

    `any_value` is the wildcard.
    """

    constructor: Constructor | None = None
    parts: tuple[Missing, ...] = ()
    any_value: bool = False

    def __str__(self) -> str:
        if self.any_value:
            return "_"
        inner = ", ".join(map(str, self.parts))
        if self.constructor is None:
            return f"({inner}{',' if len(self.parts) == 1 else ''})"
        return f"{self.constructor.name}({inner})" if self.parts else self.constructor.name


ANY = Missing(any_value=True)


def unmatched_pattern(match: Match, module: Module) -> str | None:
    """A pattern, as text, of values that no clause matches; None if there is none."""
    found = _missing([(clause.pattern,) for clause in match.clauses], 1, module)
    return None if found is None else str(found[0])


def check_matches(state: InferenceState) -> None:
    """Raise TypeInferenceError at a complete `match` that does not cover all values."""
    for match in state.matches:
        missing = unmatched_pattern(match, state.module) if match.complete else None
        if missing is not None:
            raise state.places.error(
                match,
                f"The match does not cover all values: no clause matches {missing}.",
                label=f"{missing} is not matched",
                remedy="Add a clause for it, or write match? if it cannot occur.",
            )


def _missing(rows: Sequence[Row], width: int, module: Module) -> tuple[Missing, ...] | None:
    """Values, one a column, that no row matches; None if the rows cover all."""
    if width == 0:
        return None if rows else ()
    heads = [_refutable(row[0]) for row in rows]
    tuples = [head for head in heads if isinstance(head, TuplePattern)]
    if tuples:
        return _missing_below(rows, None, len(tuples[0].patterns), width, module)
    known = {
        head.constructor.name: head.constructor
        for head in heads
        if isinstance(head, ConstructorPattern)
    }
    if not known:
        rest = _missing([row[1:] for row in rows], width - 1, module)
        return None if rest is None else (ANY, *rest)
    for constructor in _all_constructors(next(iter(known.values())), module):
        found = _missing_below(rows, constructor, len(constructor.inputs), width, module)
        if found is not None:
            return found
    return None


def _missing_below(
    rows: Sequence[Row],
    constructor: Constructor | None,
    arity: int,
    width: int,
    module: Module,
) -> tuple[Missing, ...] | None:
    """Like `_missing`, for values made by one constructor (None: tuples) in the first column."""
    matching = [_specialised(row, constructor, arity) for row in rows]
    below = [row for row in matching if row is not None]
    found = _missing(below, arity + width - 1, module)
    return None if found is None else (Missing(constructor, found[:arity]), *found[arity:])


def _specialised(row: Row, constructor: Constructor | None, arity: int) -> Row | None:
    """The row for the parts of the first value; None if it does not match the constructor."""
    head = _refutable(row[0])
    match head:
        case None:
            return (None,) * arity + row[1:]
        case TuplePattern():
            return (*head.patterns, *row[1:])
        case ConstructorPattern():
            if constructor is not None and head.constructor.name == constructor.name:
                return (*head.patterns, *row[1:])
    return None


def _refutable(pattern: Pattern | None) -> Pattern | None:
    """The pattern, or None if it matches every value."""
    return pattern if isinstance(pattern, ConstructorPattern | TuplePattern) else None


def _all_constructors(one: Constructor, module: Module) -> Sequence[Constructor]:
    data = module.types.get(one.belongs_to.name)
    return (one,) if data is None else data.constructors
