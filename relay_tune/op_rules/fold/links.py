"""Scales by channel: what multiplies by them, and what they may be moved through.

before: multiply(add(nn.conv2d(%x, W), b), s)
after:  add(nn.conv2d(%x, W * s), b * s)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.matching import attribute
from relay_tune.op_rules.table import OperatorTable
from relay_tune.op_rules.typed import constant_of, recall
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Scaled:
    """Data that are multiplied by one number, or by one a channel.

    Attributes:
        data: the data, scaled.
        scale: the numbers.
        channel_axis: the axis of the data that counts channels.
        dims: the rank of the data.
    """

    data: Expr
    scale: np.ndarray
    channel_axis: int
    dims: int


LinkRule: TypeAlias = Callable[[Call, Scaled], Expr | None]
"""rule(call, its first argument scaled) -> the result, scaled alike; None if it would not be."""

FactorRule: TypeAlias = Callable[[Call], Sequence[tuple[Expr, Expr]]]
"""rule(call) -> (data, scale): products that the call is, whichever way it is read."""


def _homogeneous(call: Call, scaled: Scaled) -> Expr | None:
    """f(s x) is s f(x) for s > 0."""
    return recall(call, (scaled.data,)) if bool((scaled.scale > 0).all()) else None


def _add(call: Call, scaled: Scaled) -> Expr | None:
    return _with_scaled_addend(call, scaled, scaled.dims - 1 - scaled.channel_axis)


def _bias_add(call: Call, scaled: Scaled) -> Expr | None:
    if attribute(call, "axis") % scaled.dims != scaled.channel_axis:
        return None
    return _with_scaled_addend(call, scaled, 0)


def _with_scaled_addend(call: Call, scaled: Scaled, trailing: int) -> Expr | None:
    """A sum with a constant in which as many axes follow that of channels."""
    addend = call.arguments[1]
    if not isinstance(addend, Constant):
        return None
    aligned = scaled.scale.reshape((scaled.scale.size, *(1,) * trailing))
    data = (addend.data * aligned).astype(addend.data.dtype)
    new = recall(call, (scaled.data, constant_of(data)))
    return new if new.type == call.type else None


def _product(call: Call) -> Sequence[tuple[Expr, Expr]]:
    left, right = call.arguments
    return (left, right), (right, left)


LINKS: OperatorTable[LinkRule] = OperatorTable(
    {"add": _add, "nn.bias_add": _bias_add},
    dict.fromkeys(("nn.relu", "nn.leaky_relu"), _homogeneous),
)

FACTORS: OperatorTable[FactorRule] = OperatorTable({"multiply": _product})
