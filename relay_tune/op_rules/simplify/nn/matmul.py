"""Products of matrices whose operands are transposed."""

from __future__ import annotations

from math import prod

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import (
    attribute,
    example_shape,
    operator_call,
    rank,
    tensor_type,
    transpose_axes,
)
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import call, recall

PRODUCT = "nn.matmul"
BATCH_PRODUCT = "nn.batch_matmul"


def transposed_second_operand(call_: Call) -> Expr | None:
    """A B^T without the transposition of B; where the result is smaller than B, as (B A^T)^T.

    before: nn.batch_matmul(%a, transpose(%b, axes=[0, 2, 1]), transpose_b=False)
    after:  transpose(nn.batch_matmul(%b, %a, transpose_b=True), axes=[0, 2, 1])
    or:     nn.batch_matmul(%a, %b, transpose_b=True)

    The first form reads the rows of B in the order in which they are made: attention over
    channels-first images is V S^T with large shares S. Measured on one core in microseconds, with 8
    matrices A of m rows and B of n rows, both of k columns:

        m    k     n    B                   before  (B A^T)^T  transpose_b
        32   512   512  an input              2838        840         1937
        32   512   512  relu of a product     3702       2439         3557
        32   512   512  softmax of one        4751       2881         4486
        256  256   256  an input              1927       1659         1728
        256  256   256  softmax of one        2275       2511         2265
        512  64    256  an input               870        937          832
        512  64    256  softmax of one         983       1275          967
    """
    left, right = call_.arguments
    dims, turned = rank(right), operator_call(right, "transpose")
    if turned is None or dims is None or rank(left) != dims:
        return None
    axes = (*range(dims - 2), dims - 1, dims - 2)
    if transpose_axes(turned) != axes:
        return None
    operand = turned.arguments[0]
    turns_left, turns_right = attribute(call_, "transpose_a"), attribute(call_, "transpose_b")
    is_smaller = prod(example_shape(call_)) < prod(example_shape(operand))
    if turns_right or not is_smaller or _element_type(left) != _element_type(operand):
        return recall(call_, (left, operand), transpose_b=not turns_right)
    product = recall(call_, (operand, left), transpose_a=False, transpose_b=not turns_left)
    return call("transpose", product, axes=axes)


def _element_type(expr: Expr) -> str | None:
    """The element type of `expr`, if it is known to be a tensor."""
    type_ = tensor_type(expr)
    return None if type_ is None else type_.dtype


def transposed_weight(call_: Call) -> Expr | None:
    """x W^T, and g W for its gradient, without a transposed copy of W.

    before: nn.matmul(%x, transpose(%w, axes=[1, 0]))
    after:  nn.matmul(%x, %w, transpose_b=True)

    Constants are transposed when the program is built; this is for weights that are arguments, as
    in training. Microseconds on one core of an AMD Zen 3, x of m rows, W of n rows, both of k
    columns:

        m     k     n     before  after
        1024  256   1024    8099   7325
        1024  1024  256     8672   8141
        128   768   3072   15091   8290
        16    512   2048    4713    650
    """
    left, right = call_.arguments
    turned = operator_call(right, "transpose")
    if turned is None or rank(right) != 2 or transpose_axes(turned) != (1, 0):
        return None
    turns = attribute(call_, "transpose_b", False)
    return recall(call_, (left, turned.arguments[0]), transpose_b=not turns)


RULES: RuleTable = {
    PRODUCT: (transposed_weight,),
    BATCH_PRODUCT: (transposed_second_operand,),
}
