"""Adjoints of matrix products, which are matrix products."""

from __future__ import annotations

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import rank_of, shaped_like, summed_to
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, tensor_type
from relay_tune.op_rules.typed import call, reshape


def of_one_type(known: Differentiated) -> bool:
    """Whether the operands have the element type of the result."""
    types = {
        type_.dtype
        for each in (*known.call.arguments, known.tensor)
        if (type_ := tensor_type(each)) is not None
    }
    return len(types) == 1


def _rows(value: Expr) -> Expr:
    """All rows of a tensor as one matrix."""
    type_ = tensor_type(value)
    assert type_ is not None
    last = type_.shape[-1]
    if len(type_.shape) == 2:
        return value
    return reshape(value, (-1, last)) if isinstance(last, int) else reshape(value, (-1, 0))


def _dense(known: Differentiated) -> tuple[Adjoint, Adjoint] | None:
    """y = x w': x' = y' w, and w' is the product of all rows of y' and x."""
    data, weight = known.call.arguments
    if not of_one_type(known) or not isinstance(_last(data), int):
        return None
    rows = call("nn.matmul", _rows(known.tensor), _rows(data), transpose_a=True)
    return call("nn.matmul", known.tensor, weight), shaped_like(rows, weight)


def _last(value: Expr) -> object:
    type_ = tensor_type(value)
    return None if type_ is None else type_.shape[-1]


def _matmul(known: Differentiated) -> tuple[Adjoint, Adjoint] | None:
    left, right = known.call.arguments
    swap = attributes_of(known.call)
    static = isinstance(_last(left), int) and isinstance(_last(known.tensor), int)
    if not of_one_type(known) or not static:
        return None
    if rank_of(left) != 2 and swap.transpose_a:
        return None
    first, second = _factors(
        "nn.matmul", _rows(left), right, _rows(known.tensor), (swap.transpose_a, swap.transpose_b)
    )
    return shaped_like(first, left), shaped_like(second, right)


def _batch_matmul(known: Differentiated) -> tuple[Adjoint, Adjoint] | None:
    left, right = known.call.arguments
    swap = attributes_of(known.call)
    if not of_one_type(known):
        return None
    first, second = _factors(
        "nn.batch_matmul", left, right, known.tensor, (swap.transpose_a, swap.transpose_b)
    )
    return summed_to(first, left), summed_to(second, right)


def _factors(
    name: str, left: Expr, right: Expr, adjoint: Expr, swap: tuple[bool, bool]
) -> tuple[Expr, Expr]:
    """The adjoints of a product's factors, which are stored transposed where `swap` says so."""
    swap_left, swap_right = swap
    if swap_left:
        first = call(name, right, adjoint, transpose_a=swap_right, transpose_b=True)
    else:
        first = call(name, adjoint, right, transpose_a=False, transpose_b=not swap_right)
    if swap_right:
        second = call(name, adjoint, left, transpose_a=True, transpose_b=swap_left)
    else:
        second = call(name, left, adjoint, transpose_a=not swap_left, transpose_b=False)
    return first, second


RULES: GradientRules = {
    "nn.dense": GradientRule(_dense),
    "nn.matmul": GradientRule(_matmul),
    "nn.batch_matmul": GradientRule(_batch_matmul),
}
