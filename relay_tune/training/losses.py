"""Losses: numbers to minimise, means over the samples of a batch.

A loss is a function of two expressions, the output of the network and the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.expr import Expr
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.matching import tensor_type
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.quick_dataclass import dataclass

Loss = Callable[[Expr, Expr], Expr]
"""loss(output, target) -> a scalar."""


@dataclass(frozen=True)
class KnownLoss:
    """A loss by name.

    Attributes:
        loss: what is minimised.
        target: the type of the target for an output of a type.
    """

    loss: Loss
    target: Callable[[TensorType], TensorType]


def _same(output: TensorType) -> TensorType:
    return output


def _classes(output: TensorType) -> TensorType:
    return TensorType(output.shape[:-1], "int64")


def _type(value: Expr) -> TensorType:
    type_ = tensor_type(value)
    if type_ is None:
        raise InputError(
            "A loss is computed of one tensor, but the network has several outputs.",
            remedy="Give a network with one output, or a loss of your own.",
        )
    return type_


def _cross_entropy(output: Expr, target: Expr) -> Expr:
    """-log softmax(output)[target], where the last axis counts classes; -100 has no loss.

    The mean over targets that have one: where none has, it is nan, and its gradients are 0, as in
    torch. A target that is no class is an error of the run (IndexRangeError).
    """
    type_ = _type(output)
    depth = type_.shape[-1]
    if not isinstance(depth, int):
        raise InputError(
            "The number of classes is dynamic.", remedy="Give the last axis of the output a size."
        )
    rows = call("reshape", call("nn.log_softmax", output, axis=-1), newshape=(-1, depth))
    classes = call("reshape", target, newshape=(-1,))
    weights = constant_of(np.ones(depth, dtype=type_.dtype))
    return call("nn.nll_loss", rows, classes, weights, reduction="mean", ignore_index=-100)


def _squared(output: Expr, target: Expr) -> Expr:
    distance = call("subtract", output, target)
    return call("mean", call("multiply", distance, distance), axis=None)


def _absolute(output: Expr, target: Expr) -> Expr:
    return call("mean", call("abs", call("subtract", output, target)), axis=None)


def _binary(output: Expr, target: Expr) -> Expr:
    """max(x, 0) - x t + log(1 + e^-|x|): that of the probability sigmoid(x), without overflow."""
    type_ = _type(output)
    zero = constant_of(np.asarray(0, dtype=type_.dtype))
    tail = call("log1p", call("exp", call("negative", call("abs", output))))
    positive = call("maximum", output, zero)
    terms = call("add", call("subtract", positive, call("multiply", output, target)), tail)
    return call("mean", terms, axis=None)


LOSSES: Mapping[str, KnownLoss] = MappingProxyType(
    {
        "cross_entropy": KnownLoss(_cross_entropy, _classes),
        "mean_squared_error": KnownLoss(_squared, _same),
        "mean_absolute_error": KnownLoss(_absolute, _same),
        "binary_cross_entropy": KnownLoss(_binary, _same),
    }
)
"""The losses that can be named; outputs are logits where there are probabilities."""
