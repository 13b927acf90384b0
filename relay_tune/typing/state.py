"""State of type inference while it walks over a program."""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from relay_tune.errors import RelayError
from relay_tune.ir.expr import Call, Constructor, Expr, Function, Match, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import FuncType, Type, TypeCall, TypeVar
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.kind_check import require_value_type
from relay_tune.typing.places import Places
from relay_tune.typing.solver import Solver
from relay_tune.typing.type_text import type_text
from relay_tune.typing.unify import UnificationError


@dataclass
class InferenceState:
    """The types found so far, and what must be remembered to write them into the program.

    Attributes:
        module: the program.
        solver: unifies types and runs type relations.
        types: the type of every expression visited; it may contain holes that the solver fills.
        global_types: the types of the module's functions, by name.
        type_arguments: for each call of a polymorphic function, what its parameters stand for.
        added_type_params: type parameters found for functions that were written without.
        rigid_symbols: how many of the enclosing functions bind each symbol name.
        matches: the `match` expressions whose cases are to be checked at the end.
        allow_free: whether a variable may be free, if it is annotated.
        places: makes errors that say where in the program's source they are.
    """

    module: Module
    allow_free: bool = False
    solver: Solver = field(default_factory=Solver)
    types: dict[Expr, Type] = field(default_factory=dict)
    global_types: dict[str, Type] = field(default_factory=dict)
    type_arguments: dict[Call, tuple[Type, ...]] = field(default_factory=dict)
    added_type_params: dict[Function, tuple[TypeVar, ...]] = field(default_factory=dict)
    rigid_symbols: Counter[str] = field(default_factory=Counter)
    matches: list[Match] = field(default_factory=list)
    places: Places = field(init=False)

    def __post_init__(self) -> None:
        self.places = Places(self.module.sources)

    def unify(
        self, node: Expr, context: str, left: Type, right: Type, remedy: str | None = None
    ) -> Type:
        """Make two types equal because of `node`; an error says so, after `context`."""
        try:
            common = self.solver.unify(left, right)
        except RelayError as error:
            notes = self._whole_types(error, left, right)
            raise self.places.wrap(node, context, error, remedy, notes) from error
        self.solve()
        return common

    def _whole_types(self, error: RelayError, left: Type, right: Type) -> tuple[str, ...]:
        """A note with the types that were compared, where only parts of them conflict."""
        if not isinstance(error, UnificationError):
            return ()
        whole = tuple(type_text(self.solver.resolve(type_)) for type_ in (left, right))
        if whole == (type_text(error.left), type_text(error.right)):
            return ()
        return (f"The whole types are {whole[0]} and {whole[1]}.",)

    def composed(self, node: Expr, type_: Type) -> Type:
        """The type that `node` makes of others; TypeInferenceError if it is too large."""
        self.resolved(node, type_)
        return type_

    def resolved(self, node: Expr, type_: Type) -> Type:
        """The type of `node` with all that is known; TypeInferenceError if it is too large."""
        try:
            return self.solver.resolve(type_)
        except RelayError as error:
            raise self.places.wrap(node, "Type error", error) from error

    def solve(self) -> None:
        """Run the relations that can go on; an error is placed at the one that fails."""
        try:
            self.solver.solve()
        except RelayError as error:
            failed = self.solver.running
            if failed is None:
                raise
            raise self.places.wrap(failed.node, "Type error", error) from error

    def annotated(self, node: Expr, annotation: Type | None) -> Type:
        """The type that the user wrote, checked; or a new hole."""
        if annotation is None:
            return self.solver.fresh()
        try:
            require_value_type(annotation, self.module)
        except RelayError as error:
            raise self.places.wrap(node, "The type is malformed", error) from error
        return self.solver.adopt(annotation)

    def variable(self, var: Var) -> Type:
        """The type of a variable that is bound here."""
        found = self.types.get(var)
        if found is None:
            found = self.types[var] = self.annotated(var, var.annotation)
        return found

    def constructor(self, node: Expr, constructor: Constructor) -> FuncType:
        """The polymorphic function type of a constructor."""
        data = self.module.types.get(constructor.belongs_to.name)
        if data is None:
            raise self.places.error(
                node,
                f"The constructor {constructor.name} belongs to the data type "
                f"{constructor.belongs_to.name}, which the module does not define.",
            )
        result = TypeCall(data.header, data.type_params)
        for known in data.constructors:
            if known.name == constructor.name:
                return FuncType(known.inputs, result, data.type_params)
        known_names = ", ".join(known.name for known in data.constructors) or "none"
        raise self.places.error(
            node,
            f"The data type {data.header.name} has no constructor {constructor.name}.",
            notes=(f"It has: {known_names}.",),
        )
