"""Scalar factors of operands of products, which move to the results.

    nn.batch_matmul(multiply(%q, 0.125f), %k)      is  multiply(nn.batch_matmul(%q, %k), 0.125f)

The kernel of a product multiplies its results for nothing; operands would need a kernel of their
own. With constant weights, into which scales are folded, both forms are as good.
"""

from __future__ import annotations

from functools import reduce
from math import prod

import numpy as np

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import (
    constant_data,
    example_shape,
    operator_call,
    tensor_type,
    uniform_value,
)
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import call, constant_of, recall

LARGEST_FACTOR = 2.0**20
"""Factors beyond it, and those of which one by them is, stay: results might overflow without."""

LARGEST_SHARE = 16
"""A result with more elements for each one of the operand is not multiplied for nothing."""

_TYPES = frozenset({"float32", "float64"})
"""Types whose results are not nearer to overflow than operands are."""


def scalar_of_operand(call_: Call) -> Expr | None:
    """A product with an operand that is multiplied by one number is multiplied by that."""
    type_ = tensor_type(call_)
    if type_ is None or type_.dtype not in _TYPES or any(map(_is_constant, call_.arguments)):
        return None
    results = prod(example_shape(call_))
    arguments: list[Expr] = []
    factors: list[Expr] = []
    for operand in call_.arguments:
        scaled = _scaled(operand)
        if scaled is None or results > LARGEST_SHARE * prod(example_shape(operand)):
            arguments.append(operand)
            continue
        data, scalar = scaled
        arguments.append(data)
        factors.append(constant_of(scalar))
    if not factors:
        return None
    product = recall(call_, arguments)
    moved = reduce(lambda data, factor: call("multiply", data, factor), factors, product)
    return moved if moved.type == call_.type else None


def _scaled(operand: Expr) -> tuple[Expr, np.ndarray] | None:
    """The data of an operand that is multiplied by one number, and that number."""
    product = operator_call(operand, "multiply")
    scale = None if product is None else constant_data(product.arguments[1])
    factor = None if product is None else uniform_value(product.arguments[1])
    if product is None or scale is None or factor is None:
        return None
    if product.arguments[0].type != product.type:
        return None
    if not 1 / LARGEST_FACTOR <= abs(factor) <= LARGEST_FACTOR:
        return None
    return product.arguments[0], np.asarray(scale.reshape(-1)[0])


def _is_constant(operand: Expr) -> bool:
    return constant_data(operand) is not None


RULES: RuleTable = dict.fromkeys(("nn.dense", "nn.matmul", "nn.batch_matmul"), (scalar_of_operand,))
