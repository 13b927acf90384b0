"""Rules of adjoints: the record of one operator for differentiation.

Reverse mode goes through a program backwards. It knows the *adjoint* of a call's result, the
derivative of the program's output with regard to it, and asks the rule of the operator for the
adjoints of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from relay_tune.ir.expr import Call, Expr
from relay_tune.quick_dataclass import dataclass

Adjoint: TypeAlias = "Expr | tuple[Adjoint, ...] | None"
"""The adjoint of a value: a tensor of its type, one for each field of a tuple, None for zero.

Integers and booleans have none."""


@dataclass(frozen=True, slots=True)
class Differentiated:
    """A call whose result has an adjoint.

    Attributes:
        call: the typed call; its arguments are values that can be used again.
        result: the value of the call, to be used instead of computing it again; typed.
        adjoint: that of the result; typed, and never None.
    """

    call: Call
    result: Expr
    adjoint: Adjoint

    @property
    def tensor(self) -> Expr:
        """The adjoint of a result that is one tensor."""
        if not isinstance(self.adjoint, Expr):
            raise TypeError("the result is no tensor")
        return self.adjoint


AdjointRule: TypeAlias = Callable[[Differentiated], Sequence[Adjoint] | None]
"""rule(call) -> typed adjoints of its arguments, in order; None where it has none for such a call,
so that they are derived from the operator's computation.

An adjoint that nobody uses costs nothing: it is left out of the program."""


@dataclass(frozen=True, slots=True)
class GradientRule:
    """Differentiation of an operator: one of the three.

    Attributes:
        adjoints: the adjoints of the arguments.
        constant: why results do not change with the arguments, but for jumps: adjoints are zero.
        refused: why there is no derivative; differentiating such a call is an error.
    """

    adjoints: AdjointRule | None = None
    constant: str = ""
    refused: str = ""


GradientRules: TypeAlias = Mapping[str, GradientRule]
"""The rules of some operators by name."""
