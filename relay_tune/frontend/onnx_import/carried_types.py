"""Types of the values that a loop carries from round to round.

before the loop (0, 4), after a round (1, 4), after two (2, 4) ...    carried as (?, 4)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_tune.errors import FIX_SIZES, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, type_of
from relay_tune.frontend.onnx_import.sequences import joined_type, text_of
from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.types import TensorType, Type

ROUND_TYPE = TensorType((), "int64")


def variable(name: str, type_: Type) -> Var:
    """A typed variable."""
    return Var(name, type_, type=type_)


def carried_types(
    build: Builder,
    carried: Sequence[Expr],
    following: Callable[[Sequence[Expr]], Sequence[Expr]],
) -> list[Type]:
    """A type for each carried value that it keeps from round to round; sizes that change are `?`.

    `following` translates a round, from values to values. Raises UnsupportedOperatorError where a
    value changes its rank or its element type.
    """
    types = [type_of(value) for value in carried]
    while True:
        with build.scope():
            values = [variable(f"carried{n}", type_) for n, type_ in enumerate(types)]
            after = [type_of(value) for value in following(values)]
        joined = [_joined(n, a, b) for n, (a, b) in enumerate(zip(types, after, strict=True))]
        if joined == types:
            return types
        types = joined


def _joined(number: int, before: Type, after: Type) -> Type:
    try:
        return joined_type(before, after)
    except UnsupportedOperatorError as error:
        raise UnsupportedOperatorError(
            f"carried value {number} of the loop has the type {text_of(before)} before and "
            f"{text_of(after)} after a round; such a loop is supported only if the number of its "
            "rounds is known.",
            remedy=FIX_SIZES,
        ) from error
