"""The record that describes an operator, once and for all readers, and the table of records.

The records themselves are written in `relay_tune.op`, one small group a file. The parser, type
inference, passes, lowering and the interpreter ask the record; nobody keeps a second list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from enum import IntEnum
from typing import Any, ParamSpec, Protocol, cast

from relay_tune.errors import InputError, RelayError
from relay_tune.ir.dim import Dim
from relay_tune.ir.expr import Attributes, Call, Expr
from relay_tune.ir.operator_table import OPERATORS
from relay_tune.ir.types import TensorType, Type
from relay_tune.quick_dataclass import dataclass


class FusionKind(IntEnum):
    """How an operator takes part in fusion; a larger kind is harder to fuse."""

    ELEMENTWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    REDUCTION = 3
    OUTPUT_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


class RelationError(RelayError):
    """Raised by a type relation: the input types contradict the operator's rule.

    Attributes:
        sizes: the two sizes that would have to be equal, where that is what the rule asks.
    """

    def __init__(
        self,
        message: str,
        *,
        label: str = "",
        notes: tuple[str, ...] = (),
        remedy: str | None = None,
        sizes: tuple[Dim, Dim] | None = None,
    ) -> None:
        super().__init__(message, label=label, notes=notes, remedy=remedy)
        self.sizes = sizes


class RelationContext(Protocol):
    """The questions that a type relation may ask of the solver."""

    def unify(self, left: Type, right: Type) -> Type:
        """Make two types equal (this is how a relation solves backward)."""

    def resolve(self, type_: Type) -> Type:
        """The type with all that is known so far filled in."""


AttributesClass = type[Attributes]

Relation = Callable[[Sequence[Type], Any, RelationContext], Type | None]
"""relation(input types, attributes, context) -> output type, or None if not yet known.

Inputs are resolved; an input that is an IncompleteType is not known yet. Dimensions may be
integers, symbols, polynomials, or `?`. Raises RelationError on a contradiction."""

Compute = Callable[[Any, Sequence[Any], Sequence[Any]], Sequence[Any]]
"""compute(attributes, inputs, output tensor types) -> output tensors.

Inputs are `relay_tune.tensor` tensors, or tuples of them where the operator takes a tuple."""

Reference = Callable[..., Any]
"""reference(attributes, *arrays) -> array or tuple of arrays (numpy). Tuple inputs are tuples."""

Composition = Callable[[Any, Sequence[Expr], Sequence[Type]], Expr]
"""composition(attributes, arguments, argument types) -> an expression of simpler operators."""

OtherFactor = Callable[[Any], str]
"""other_factor(attributes) -> the type that what a product multiplies by the result may be rounded
to; empty where it keeps all of its digits."""

ElementCounts = Callable[[Any, Sequence[TensorType], Sequence[TensorType]], tuple[Dim, Dim]]
"""element_counts(attributes, tensors of the arguments, tensors of the result) -> two numbers of
elements that must be equal, which symbolic sizes may not tell."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operator(Expr):
    """One operator: everything that the rest of the compiler wants to know of it.

    Attributes:
        name: as written in Relay text, such as `nn.conv2d`.
        arguments: names of the inputs, in order.
        relation: its type rule.
        kind: its part in fusion.
        attributes: the record of its attributes.
        compute: the tensor computation; None where `composition` says it in simpler operators.
        reference: the meaning, in numpy.
        sizes: for results whose sizes depend on the elements of inputs: the tensor computation of
            each size that is `?`, in order, as int64; less than 0 where the inputs do not fit.
        composition: the same meaning in simpler operators, used by the simplification passes.
        stateful: True when two calls with equal inputs may differ (never merged or removed).
        other_factor: for weights: what may become of the data that a product multiplies by them.
        element_counts: numbers of elements that are compared at run time where sizes are symbolic.
        documentation: what it computes, in sentences.
    """

    name: str
    arguments: tuple[str, ...]
    relation: Relation
    kind: FusionKind
    reference: Reference
    attributes: AttributesClass = Attributes
    compute: Compute | None = None
    sizes: Compute | None = None
    composition: Composition | None = None
    stateful: bool = False
    other_factor: OtherFactor | None = None
    element_counts: ElementCounts | None = None
    documentation: str = field(default="")

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *arguments: Expr, **attributes: Any) -> Call:
        """A call of this operator; attributes by keyword, defaults for the rest.

        Raises InputError on a wrong number of arguments or an unknown attribute.
        """
        if len(arguments) != len(self.arguments):
            raise InputError(
                f"Operator {self.name} takes {len(self.arguments)} argument(s) "
                f"({', '.join(self.arguments)}), but {len(arguments)} were given.",
                remedy="Give one expression for each argument; attributes go by keyword.",
            )
        try:
            record = self.attributes(**attributes)
        except TypeError as error:
            raise InputError(
                f"Operator {self.name}: {error}.",
                remedy=(
                    "Give the attributes by keyword, with values of the declared types: see "
                    "the record of the operator."
                ),
            ) from error
        return Call(self, arguments, record)


Fields = ParamSpec("Fields")

_TABLE = cast(dict[str, Operator], OPERATORS)


def register(operator: Operator) -> Operator:
    """Enter an operator into the table; raises InputError if the name is taken."""
    if operator.name in _TABLE:
        raise InputError(
            f"Operator {operator.name} is registered twice.",
            remedy="Give the new operator another name.",
        )
    _TABLE[operator.name] = operator
    return operator


def _registering(make: Callable[Fields, Operator]) -> Callable[Fields, Operator]:
    def define(*values: Fields.args, **fields: Fields.kwargs) -> Operator:
        return register(make(*values, **fields))

    return define


define = _registering(Operator)
"""Register the operator with the given fields."""


def find_operator(name: str) -> Operator | None:
    """The operator called `name`, or None."""
    return _TABLE.get(name)


def operators() -> tuple[Operator, ...]:
    """All registered operators, by name."""
    return tuple(_TABLE[name] for name in sorted(_TABLE))
