"""Constructors in programs, as the definitions of their data types have them in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay_tune.ir.expr import (
    Clause,
    Constructor,
    ConstructorPattern,
    Expr,
    Function,
    Match,
    Pattern,
    TuplePattern,
)
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.type_data import TypeData
from relay_tune.op_rules.matching import is_opaque_function


class Definitions:
    """Puts the constructors of definitions in the place of those of the same names."""

    def __init__(self, types: Mapping[str, TypeData]) -> None:
        self._known = {
            (name, part.name): part for name, data in types.items() for part in data.constructors
        }

    def function(self, function: Function) -> Function:
        """A function with these constructors."""
        made = rewrite(function, self._node, enter=lambda node: not is_opaque_function(node))
        assert isinstance(made, Function)
        return made

    def constructor(self, constructor: Constructor) -> Constructor:
        """The constructor of the definition."""
        return self._known.get((constructor.belongs_to.name, constructor.name), constructor)

    def _node(self, node: Expr) -> Expr:
        match node:
            case Constructor():
                return self.constructor(node)
            case Match():
                clauses = tuple(Clause(self._pattern(c.pattern), c.body) for c in node.clauses)
                return replace(node, clauses=clauses)
            case _:
                return node

    def _pattern(self, pattern: Pattern) -> Pattern:
        match pattern:
            case ConstructorPattern():
                parts = tuple(map(self._pattern, pattern.patterns))
                return ConstructorPattern(self.constructor(pattern.constructor), parts)
            case TuplePattern():
                return TuplePattern(tuple(map(self._pattern, pattern.patterns)))
            case _:
                return pattern
