"""Derivatives: grad, vjp and jvp of functions, stop_gradient, and rules of users' functions.

    %g = grad(@loss, wrt=[1]);       a function of the same parameters, which returns
    %g(%batch, %weights)             (the loss, (its derivative with regard to %weights,))

    %f = custom_vjp(@round, @forward, @backward);     @round, whose adjoints these two compute
    %g = checkpoint(@block);                          @block, which is computed again for them

They are no computations on tensors: the pass `differentiate` replaces them by functions of the
program before anything else happens. `derivative` stands for a derivative in between, `ruled` and
`checkpointed` for a call of a function with a rule or a checkpoint. `again` is what a value is that
is computed twice, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Attributes, Expr
from relay_tune.ir.operator import FusionKind, Operator, Relation, define
from relay_tune.ir.types import Type
from relay_tune.op.elements import Array, elementwise, integer_shape
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.relations.derivative import derivative as derivative_relation
from relay_tune.typing.relations.derivative import gradient, pullback, pushforward
from relay_tune.typing.relations.derivative_rules import (
    checkpointed_function,
    custom_pullback,
    custom_pushforward,
    first_of,
)
from relay_tune.typing.relations.elementwise import identity


@dataclass(frozen=True)
class DerivativeAttributes(Attributes):
    """Attributes of grad, vjp and jvp.

    Attributes:
        wrt: the parameters with regard to which the function is differentiated, counted from 0;
            None: all.
    """

    wrt: tuple[int, ...] | None = None


@dataclass(frozen=True)
class RequestAttributes(Attributes):
    """Attributes of derivative.

    Attributes:
        wrt: the arguments with regard to which the value is differentiated.
        mode: `gradient` of a number, `adjoint` for one that is given, or `tangent`.
    """

    wrt: tuple[int, ...]
    mode: str = "gradient"


@dataclass(frozen=True)
class RuledAttributes(Attributes):
    """Attributes of ruled.

    Attributes:
        captured: how many of the leading parameters of the function no rule has adjoints for.
    """

    captured: int = 0


def _no_value(attributes: Attributes, *arguments: object) -> object:
    raise BuildError(
        "A derivative has no value before it is made a program.",
        remedy="Use rt.interpret or rt.build, which run the pass `differentiate` first.",
    )


def _of_functions(name: str, relation: Relation, documentation: str) -> Operator:
    return define(
        name=name,
        arguments=("function",),
        relation=relation,
        kind=FusionKind.OPAQUE,
        attributes=DerivativeAttributes,
        reference=_no_value,
        documentation=documentation,
    )


def _with_rule(
    name: str, arguments: tuple[str, ...], relation: Relation, documentation: str
) -> Operator:
    return define(
        name=name,
        arguments=("function", *arguments),
        relation=relation,
        kind=FusionKind.OPAQUE,
        reference=_no_value,
        documentation=documentation,
    )


def _itself(attributes: Attributes, arguments: Sequence[Expr], types: Sequence[Type]) -> Expr:
    return arguments[0]


def _data(attributes: Attributes, inputs: Any, types: Any) -> list[Any]:
    shape = integer_shape(types[0])
    return [elementwise("again", shape, inputs[:1], lambda data: data)]


def _same(attributes: Attributes, data: Array, after: Any) -> Array:
    return data


def _copied(attributes: Attributes, data: Array) -> Array:
    return data.copy()


grad = _of_functions(
    "grad",
    gradient,
    "The function that returns what `function` does, a number, and its derivatives with regard to "
    "the chosen parameters.",
)
vjp = _of_functions(
    "vjp",
    pullback,
    "The function that takes the adjoint of the result as well, and returns what `function` does "
    "and the adjoints of the chosen parameters.",
)
jvp = _of_functions(
    "jvp",
    pushforward,
    "The function that takes tangents of the chosen parameters as well, and returns what "
    "`function` does and the tangent of the result.",
)
derivative = define(
    name="derivative",
    arguments=("value", "arguments", "given"),
    relation=derivative_relation,
    kind=FusionKind.OPAQUE,
    attributes=RequestAttributes,
    reference=_no_value,
    documentation="The value of a call of a function, with its derivative.",
)
custom_vjp = _with_rule(
    "custom_vjp",
    ("forward", "backward"),
    custom_pullback,
    "`function`, whose adjoints are computed by `backward` from what `forward` returns beside the "
    "result, and from the adjoint of the result.",
)
custom_jvp = _with_rule(
    "custom_jvp",
    ("tangent",),
    custom_pushforward,
    "`function`, of which `tangent` computes the result and its tangent.",
)
ruled = define(
    name="ruled",
    arguments=("value", "adjoints", "tangent"),
    relation=first_of,
    kind=FusionKind.OPAQUE,
    attributes=RuledAttributes,
    reference=_no_value,
    documentation="The value of a call of a function, with calls of the functions that "
    "compute its derivatives.",
)
checkpoint = _with_rule(
    "checkpoint",
    (),
    checkpointed_function,
    "`function`, of which derivatives keep the arguments and compute everything else again.",
)
checkpointed = define(
    name="checkpointed",
    arguments=("value",),
    relation=first_of,
    kind=FusionKind.OPAQUE,
    reference=_no_value,
    documentation="The value of a call of a function with a checkpoint.",
)
again = define(
    name="again",
    arguments=("data", "after"),
    relation=first_of,
    kind=FusionKind.OPAQUE,
    compute=_data,
    reference=_same,
    documentation="The data, when the tensors of the tuple `after` are known. What is computed "
    "from it is not taken for what was computed from the data before.",
)
stop_gradient = define(
    name="stop_gradient",
    arguments=("data",),
    relation=identity,
    kind=FusionKind.ELEMENTWISE,
    composition=_itself,
    reference=_copied,
    documentation="The data, which derivatives take for constant.",
)
