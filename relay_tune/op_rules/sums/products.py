"""Products of matrices whose sum is one product, of operands one after the other.

before: add(nn.matmul(%a, %b, transpose_a=True), nn.matmul(%c, %d, transpose_a=True))
after:  nn.matmul(concatenate((%a, %c)), concatenate((%b, %d)), transpose_a=True)

A weight that is read many times has such an adjoint. Products that are added one after the other
pass over all of the sum each time, where a longer one keeps it in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import prod
from typing import TypeAlias

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import attributes_of, static_shape, tensor_type
from relay_tune.op_rules.sums.concatenations import Concatenations
from relay_tune.op_rules.sums.rule import TermRule
from relay_tune.op_rules.typed import recall

Axes: TypeAlias = tuple[int, int]
"""The axis of each operand along which elements are multiplied and added up."""

ContractedAxes: TypeAlias = Callable[[Call], Axes]


def _of_dense(product: Call) -> Axes:
    return len(static_shape(product.arguments[0]) or ()) - 1, 1


def _of_matmul(product: Call) -> Axes:
    attributes, rank = attributes_of(product), len(static_shape(product.arguments[1]) or ())
    left = len(static_shape(product.arguments[0]) or ())
    return (
        left - (2 if attributes.transpose_a and left > 1 else 1),
        rank - (1 if attributes.transpose_b else 2),
    )


def _rule(axes_of: ContractedAxes) -> TermRule:
    def key(product: Call) -> Hashable | None:
        types = [tensor_type(each) for each in (*product.arguments, product)]
        shapes = [static_shape(each) for each in product.arguments]
        if None in types or None in shapes or static_shape(product) is None:
            return None
        rests = tuple(
            (*(shape or ())[:axis], *(shape or ())[axis + 1 :])
            for shape, axis in zip(shapes, axes_of(product), strict=True)
        )
        dtypes = tuple(type_.dtype for type_ in types if type_ is not None)
        return repr(attributes_of(product)), rests, dtypes

    def joined(products: Sequence[Call], concatenations: Concatenations) -> Expr | None:
        if _copied(products) > _passed_over(products):
            return None
        axes = axes_of(products[0])
        sides = [[product.arguments[side] for product in products] for side in range(len(axes))]
        orders = (concatenations.order(*each) for each in zip(sides, axes, strict=True))
        order = next((each for each in orders if each is not None), range(len(products)))
        operands = [
            concatenations.of([parts[position] for position in order], axis)
            for parts, axis in zip(sides, axes, strict=True)
        ]
        return recall(products[0], operands)

    return TermRule(key, joined)


def _copied(products: Sequence[Call]) -> int:
    """Elements that are read and written where operands are put one after the other."""
    return sum(prod(static_shape(each) or ()) for call in products for each in call.arguments)


def _passed_over(products: Sequence[Call]) -> int:
    """Elements that are read and written where products are added up."""
    return (len(products) - 1) * prod(static_shape(products[0]) or ())


RULES: Mapping[str, TermRule] = {
    "nn.dense": _rule(_of_dense),
    "nn.matmul": _rule(_of_matmul),
    "nn.batch_matmul": _rule(_of_matmul),
}
