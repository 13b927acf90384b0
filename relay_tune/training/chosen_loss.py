"""The loss that a user has chosen, checked against what the network returns."""

from __future__ import annotations

from relay_tune.arguments import did_you_mean, wrong_type
from relay_tune.errors import InputError, RelayError
from relay_tune.ir.dtypes import is_float
from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.types import TensorType, Type
from relay_tune.training.losses import LOSSES, Loss
from relay_tune.typing.infer import infer_expr
from relay_tune.typing.type_text import type_text

_EXAMPLE = "Return a mean or a sum, such as rt.op.reduction.mean(distance * distance)."


def chosen_loss(loss: str | Loss, output: Type | None, target: Type | None) -> tuple[Loss, Type]:
    """The function, and the type of the target."""
    if callable(loss):
        wanted = target or output
        assert wanted is not None
        return loss, wanted
    known = LOSSES.get(loss)
    if known is None:
        raise InputError(
            f"There is no loss {loss!r}.",
            remedy=did_you_mean(str(loss), LOSSES, f"Give one of: {', '.join(LOSSES)}."),
        )
    if not isinstance(output, TensorType):
        raise InputError(
            f"The loss {loss} is that of one tensor, but the network returns "
            f"{'nothing' if output is None else type_text(output)}.",
            remedy="Give a network with one output, or a loss of your own.",
        )
    return known.loss, target or known.target(output)


def check_own_loss(result: Type | None) -> None:
    """InputError unless a network's result can be minimised."""
    if isinstance(result, TensorType) and not result.shape and is_float(result.dtype):
        return
    raise InputError(
        "Without a loss, the result of the network is minimised, but it is "
        f"{'unknown' if result is None else type_text(result)}.",
        remedy="Let it return one floating-point number, or name a loss.",
    )


def loss_of(compute: Loss, output: Var, target: Var) -> Expr:
    """The loss of an output and a target; InputError where they do not fit, or it is no number."""
    assert output.type is not None
    assert target.type is not None
    found: object = None
    try:
        found = compute(output, target)
        type_ = infer_expr(found).type if isinstance(found, Expr) else None
    except RelayError as error:
        raise InputError(
            f"The loss cannot be computed of the output, {type_text(output.type)}, and the target, "
            f"{type_text(target.type)}: {error.message}",
            notes=error.notes,
            remedy="Give the type that the loss takes: target=rt.TensorType((32,), 'int64').",
        ) from error
    if not isinstance(found, Expr):
        raise wrong_type("What the loss returns", "an expression", found, _EXAMPLE)
    if not (isinstance(type_, TensorType) and not type_.shape and is_float(type_.dtype)):
        raise InputError(
            f"The loss returns {'unknown' if type_ is None else type_text(type_)}, but must return "
            "one floating-point number.",
            remedy=_EXAMPLE,
        )
    return found
