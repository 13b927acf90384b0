"""What may be used at a place of a random program."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.types import Type, TypeVar


@dataclass(frozen=True)
class Available:
    """An expression that may be used here, and its type."""

    expr: Expr
    type: Type


@dataclass(frozen=True)
class Signature:
    """A function that may be called here.

    Attributes:
        counts: whether the first parameter counts down: it must be small.
        cost: about how many nodes a call evaluates.
    """

    callee: Expr
    params: tuple[Type, ...]
    result: Type
    type_params: tuple[TypeVar, ...] = ()
    counts: bool = False
    cost: int = 1


@dataclass(frozen=True)
class Recursion:
    """A call that a function may make of itself or of its partner, with a smaller counter."""

    callee: Expr
    counter: Var
    params: tuple[Type, ...]
    result: Type


@dataclass(frozen=True)
class Scope:
    """A place in a program.

    Attributes:
        variables: the variables that are bound here.
        functions: the functions that can be called by name.
        type_vars: type parameters of which a value is at hand.
        nodes: pure expressions made here before, to be used a second time.
        recursion: the recursive calls that may still be made.
        runs: about how often this place is evaluated.
    """

    variables: tuple[Available, ...] = ()
    functions: tuple[Signature, ...] = ()
    type_vars: tuple[TypeVar, ...] = ()
    nodes: list[Available] = field(default_factory=list)
    recursion: list[Recursion] = field(default_factory=list)
    runs: int = 1

    def inner(self) -> Scope:
        """A branch: what is made in it cannot be used outside."""
        return replace(self, nodes=list(self.nodes))

    def binding(self, *variables: tuple[Var, Type]) -> Scope:
        """The scope inside of a binder."""
        new = tuple(Available(var, type_) for var, type_ in variables)
        return replace(self.inner(), variables=self.variables + new)

    def declaring(self, signature: Signature) -> Scope:
        """The scope after a function was bound to a name."""
        return replace(self.inner(), functions=(*self.functions, signature))

    def inside_function(self, runs: int) -> Scope:
        """The scope of the body of a function that is called `runs` times."""
        return replace(self.inner(), recursion=[], runs=self.runs * runs)
