"""Adjoints of running sums and products."""

from __future__ import annotations

import numpy as np

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.cast import converted
from relay_tune.op_rules.gradient.expressions import number, product, shaped_like
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, static_shape, tensor_type
from relay_tune.op_rules.typed import call, constant_of, reshape


def _cumsum(known: Differentiated) -> tuple[Adjoint]:
    """The running sum from the end on."""
    (data,) = known.call.arguments
    attributes = attributes_of(known.call)
    axis = 0 if attributes.axis is None else attributes.axis
    turned = call("reverse", known.tensor, axis=axis)
    total = call("cumsum", turned, axis=axis, exclusive=attributes.exclusive)
    return (_shaped(call("reverse", total, axis=axis), data),)


def _shaped(value: Expr, data: Expr) -> Adjoint:
    shaped = shaped_like(value, data)
    return converted(shaped, data)


def _cumprod(known: Differentiated) -> tuple[Adjoint] | None:
    """sum(i) adjoint[i] * prod(j <= i, j != k) x[j], for each k: right where elements are zero.

    The products of a row of n elements are a matrix of n x n.
    """
    (data,) = known.call.arguments
    attributes = attributes_of(known.call)
    shape, type_ = static_shape(data), tensor_type(data)
    if shape is None or type_ is None or tensor_type(known.tensor) is None:
        return None
    rows, adjoint = data, known.tensor
    if attributes.axis is None:
        rows = reshape(data, (-1,))
        shape = static_shape(rows) or ()
    axis = (attributes.axis or 0) % len(shape)
    size = shape[axis]
    left_out = call("expand_dims", rows, axis=axis)  # [.., k, j, ..]
    own = _mask(np.eye(size, dtype=bool), axis, len(shape))
    factors = call("where", own, number(1.0, data), left_out)
    products = call("cumprod", factors, axis=axis + 1, exclusive=attributes.exclusive)
    counts = np.triu(np.ones((size, size), bool), 1 if attributes.exclusive else 0)
    reached = call("where", _mask(counts, axis, len(shape)), products, number(0.0, products))
    terms = product(reached, call("expand_dims", adjoint, axis=axis))
    return (_shaped(call("sum", terms, axis=(axis + 1,)), data),)


def _mask(matrix: np.ndarray, axis: int, rank: int) -> Expr:
    """A constant matrix on two neighbouring axes from `axis` on, of `rank` + 1."""
    return constant_of(matrix.reshape((1,) * axis + matrix.shape + (1,) * (rank - 1 - axis)))


RULES: GradientRules = {
    "cumsum": GradientRule(_cumsum),
    "cumprod": GradientRule(_cumprod),
}
