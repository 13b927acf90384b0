"""Typed expressions that rules of adjoints are made of."""

from __future__ import annotations

from functools import reduce

import numpy as np

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Expr
from relay_tune.op_rules.matching import have_one_shape, static_shape, tensor_type
from relay_tune.op_rules.typed import call, constant_of


def number(value: float, like: Expr) -> Expr:
    """A scalar constant of the element type of `like`."""
    type_ = tensor_type(like)
    if type_ is None:
        raise TypeError("a number takes the element type of a tensor")
    return constant_of(np.asarray(value, dtype=type_.dtype))


def rank_of(value: Expr) -> int:
    """The number of dimensions of a tensor in a typed program."""
    type_ = tensor_type(value)
    assert type_ is not None
    return len(type_.shape)


def product(*factors: Expr) -> Expr:
    """The product of tensors, from left to right."""
    return reduce(lambda left, right: call("multiply", left, right), factors)


def plus(left: Expr, right: Expr) -> Expr:
    """The sum of two tensors."""
    return call("add", left, right)


def minus(left: Expr, right: Expr) -> Expr:
    """The difference of two tensors."""
    return call("subtract", left, right)


def quotient(left: Expr, right: Expr) -> Expr:
    """The quotient of two tensors."""
    return call("divide", left, right)


def negated(value: Expr) -> Expr:
    """The negative of a tensor."""
    return call("negative", value)


def zero_where(condition: Expr, value: Expr) -> Expr:
    """`value` where the condition does not hold, zero elsewhere, whatever `value` is there."""
    return call("where", condition, number(0.0, value), value)


def summed_to(value: Expr, like: Expr) -> Expr:
    """The adjoint of an argument that broadcasts: summed over the axes where it is repeated."""
    if have_one_shape(value, like):
        return value
    shape = static_shape(like)
    if shape is None or static_shape(value) is None:
        return call("collapse_sum_like", value, like)
    return call("collapse_sum_to", value, shape=shape)


def _follow_from_count(value: Expr, like: Expr) -> bool:
    """Whether equal types of equally many elements are equal shapes: one size at most is `?`."""
    given, wanted = tensor_type(value), tensor_type(like)
    if given is None or wanted is None or given.shape != wanted.shape:
        return False
    return given.shape.count(UNKNOWN) <= 1 and 0 not in given.shape


def shaped_like(value: Expr, like: Expr) -> Expr:
    """The elements of `value`, in order, in the shape of `like`."""
    if have_one_shape(value, like) or _follow_from_count(value, like):
        return value
    shape = static_shape(like)
    if shape is None:
        return call("reshape_like", value, like)
    return call("reshape", value, newshape=shape, allowzero=0 in shape)


def zeros_of(like: Expr) -> Expr:
    """Zeros in the type of `like`, which is not read where its shape is known."""
    type_, shape = tensor_type(like), static_shape(like)
    if type_ is None or shape is None:
        return call("zeros_like", like)
    if not shape:
        return number(0.0, like)
    return call("zeros", shape=shape, dtype=type_.dtype)


def one(like: Expr) -> Expr:
    """The adjoint of a program's result, a number, with regard to itself."""
    return number(1.0, like)
