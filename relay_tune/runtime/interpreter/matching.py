"""Which clause of a match fits a value."""

from __future__ import annotations

from relay_tune.errors import RelayError
from relay_tune.ir.expr import (
    Clause,
    ConstructorPattern,
    Match,
    Pattern,
    TuplePattern,
    Var,
    VarPattern,
)
from relay_tune.runtime.interpreter.values import ConstructorValue, Value


def first_match(node: Match, value: Value) -> tuple[Clause, dict[Var, Value]]:
    """The first clause that fits `value`, and what its variables are."""
    for clause in node.clauses:
        bindings: dict[Var, Value] = {}
        if _matches(clause.pattern, value, bindings):
            return clause, bindings
    raise RelayError(
        f"No clause of the match fits {value!r}.",
        where=node.span,
        remedy="Add a clause for such values, or `_` for all others.",
    )


def _matches(pattern: Pattern, value: Value, bindings: dict[Var, Value]) -> bool:
    match pattern:
        case VarPattern():
            bindings[pattern.var] = value
            return True
        case ConstructorPattern():
            if not isinstance(value, ConstructorValue):
                return False
            wanted, found = pattern.constructor, value.constructor
            if (wanted.name, wanted.belongs_to) != (found.name, found.belongs_to):
                return False
            return _all_match(pattern.patterns, value.fields, bindings)
        case TuplePattern():
            return isinstance(value, tuple) and _all_match(pattern.patterns, value, bindings)
        case _:
            return True


def _all_match(
    patterns: tuple[Pattern, ...], values: tuple[Value, ...], bindings: dict[Var, Value]
) -> bool:
    if len(patterns) != len(values):
        return False
    return all(_matches(p, v, bindings) for p, v in zip(patterns, values, strict=True))
