"""The code that the sweep of one block writes: the block itself, and its backward code."""

from __future__ import annotations

from dataclasses import field

from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.types import UNIT, TupleType, Type
from relay_tune.op_rules.gradient.rule import Adjoint
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.activity import Activity
from relay_tune.transform.gradient.adjoint_types import AdjointTypes
from relay_tune.transform.gradient.adjoint_values import (
    AdjointValues,
    UserValues,
    fields_of_adjoint,
)
from relay_tune.transform.gradient.swept import Adjoints
from relay_tune.transform.gradient.tapes import Tapes
from relay_tune.transform.gradient.typed_nodes import (
    Binding,
    is_named,
    named_as,
    parameter,
    type_of,
)


@dataclass
class Knowledge:
    """Facts that all blocks of a module share.

    Attributes:
        types: adjoints of types.
        user: adjoints as values of the types that they belong to.
        activity: which variables change.
        tapes: the data types of tapes.
        definitions: what variables are bound to.
    """

    types: AdjointTypes
    user: UserValues
    activity: Activity
    tapes: Tapes
    definitions: dict[Expr, Expr] = field(default_factory=dict)

    @property
    def values(self) -> AdjointValues:
        """Adjoints as expressions."""
        return self.user.adjoints


@dataclass
class BlockCode:
    """The code of one block being swept.

    Attributes:
        of: what is known of all blocks.
        title: the function that the block is part of.
        forward: the bindings of the block, the last one first.
        backward: those of the backward code, in order.
        adjoints: of variables whose bindings are still to be swept.
    """

    of: Knowledge
    title: str
    forward: list[Binding] = field(default_factory=list)
    backward: list[Binding] = field(default_factory=list)
    adjoints: Adjoints = field(default_factory=dict)

    def contribute(self, atom: Expr, adjoint: Adjoint) -> None:
        """Add to the adjoint of a variable; what does not change has none."""
        if adjoint is None or not isinstance(atom, Var) or not self.of.activity.is_active(atom):
            return
        if isinstance(adjoint, tuple) and all(part is None for part in adjoint):
            return
        type_ = self.of.types.field_adjoint(type_of(atom))
        told = told_adjoint(f"d_{atom.name}", adjoint, type_, self.backward)
        self.adjoints[atom] = self.of.values.total(self.adjoints.get(atom), told)

    def named(self, name: str, adjoint: Adjoint) -> Adjoint:
        """An adjoint whose parts are variables, bound where they are not yet."""
        if isinstance(adjoint, tuple):
            return tuple(self.named(name, part) for part in adjoint)
        if adjoint is None or type_of(adjoint) == UNIT:
            return None
        if not is_named(adjoint):
            adjoint = self.bound(name, adjoint)
        if isinstance(type_of(adjoint), TupleType):
            return tuple(self.named(name, part) for part in fields_of_adjoint(adjoint))
        return adjoint

    def bound(self, name: str, value: Expr, type_: Type | None = None) -> Var:
        """A variable of the backward code that has this value, and is told another type."""
        var = named_as(name, value, type_ or type_of(value))
        self.backward.append((var, value))
        return var


def told_adjoint(name: str, adjoint: Adjoint, type_: Type, out: list[Binding]) -> Adjoint:
    """An adjoint of a type; `out` gets bindings of the parts of it that have others."""
    if isinstance(adjoint, tuple):
        assert isinstance(type_, TupleType)
        pairs = zip(adjoint, type_.fields, strict=True)
        return tuple(told_adjoint(name, part, wanted, out) for part, wanted in pairs)
    if adjoint is None or type_of(adjoint) == type_:
        return adjoint
    out.append((parameter(name, type_), adjoint))
    return out[-1][0]
