"""Adjoints of losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import negated, number, plus, product, quotient
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, static_shape, tensor_type
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.tensor.scalar_semantics import numpy_dtype


def _share(known: Differentiated, data: Expr) -> Expr | None:
    """The adjoint of the sum that a cross entropy divides by the number of rows."""
    shape = static_shape(data)
    if shape is None:
        return None
    return negated(quotient(known.tensor, number(float(shape[0]), data)))


def _cross_entropy(known: Differentiated) -> tuple[Adjoint, Adjoint] | None:
    """Of -sum(t log p) / rows."""
    predictions, targets = known.call.arguments
    share = _share(known, predictions)
    if share is None:
        return None
    return (
        product(quotient(targets, predictions), share),
        product(call("log", predictions), share),
    )


def _with_logits(known: Differentiated) -> tuple[Adjoint, Adjoint] | None:
    """Of -sum(t l) / rows, where l are logarithms."""
    predictions, targets = known.call.arguments
    share = _share(known, predictions)
    return None if share is None else (product(targets, share), product(predictions, share))


def _nll_loss(known: Differentiated) -> tuple[Adjoint, ...] | None:
    """Of -w[t] p[t], where t is a class, and of the sum or the weighted mean of these."""
    predictions, targets, weights = known.call.arguments
    attributes: Any = attributes_of(known.call)
    shape = static_shape(weights)
    type_ = tensor_type(predictions)
    if shape is None or type_ is None:
        return None
    rank = len(type_.shape)
    hit = _chosen(targets, shape[0], rank, attributes.ignore_index)
    zero = number(0.0, predictions)
    weight = call("reshape", weights, newshape=(1, shape[0], *[1] * (rank - 2)))
    each = known.tensor
    if attributes.reduction == "none":
        each = call("expand_dims", each, axis=1)
    if attributes.reduction == "mean":
        each = quotient(each, call("sum", call("where", hit, weight, zero), axis=None))
    given = negated(each)
    first = call("where", hit, product(given, weight), zero)
    value = predictions
    if attributes.reduction == "mean":
        value = plus(predictions, known.result)
    terms = call("where", hit, product(given, value), zero)
    return first, None, call("sum", terms, axis=(1,), exclude=True)


def _chosen(targets: Expr, classes: int, rank: int, ignored: int) -> Expr:
    """Whether a class is that of the target, [N, C, ..]; negative ones count from the end."""
    type_ = tensor_type(targets)
    assert type_ is not None
    dtype = numpy_dtype(type_.dtype)

    def integers(value: object) -> Expr:
        return constant_of(np.asarray(value, dtype=dtype))

    numbers = np.arange(classes).reshape(1, classes, *[1] * (rank - 2))
    column = call("expand_dims", targets, axis=1)
    same = call("equal", column, integers(numbers))
    from_end = call("equal", column, integers(numbers - classes))
    counts = call("not_equal", column, integers(ignored))
    return call("logical_and", call("logical_or", same, from_end), counts)


RULES: GradientRules = {
    "nn.nll_loss": GradientRule(_nll_loss),
    "nn.cross_entropy": GradientRule(_cross_entropy),
    "nn.cross_entropy_with_logits": GradientRule(_with_logits),
}
