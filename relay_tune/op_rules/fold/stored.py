"""Weights that stay as they are stored: kernels convert them where they read them.

    nn.dense(%x, cast(W: bfloat16, dtype="float32"))      W is read in half the bytes of float32

A conversion is kept where whatever reads it reads each weight once a row, or a few of its rows: a
product of matrices, a lookup. Layers that make other forms of weights (convolutions) get floats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.ir.traversal import children, post_order
from relay_tune.op_rules.matching import is_opaque_function, tensor_type
from relay_tune.op_rules.table import OperatorTable

Conversion: TypeAlias = Callable[[Call], bool]
"""Whether a call gives the numbers that its arguments store, in more bytes than these take."""

Reader: TypeAlias = int
"""The argument of an operator whose elements it converts as it reads them."""


def _blocks(_: Call) -> bool:
    return True


def _widened(call: Call) -> bool:
    """Whether a cast makes float32 of narrower floats."""
    before, after = tensor_type(call.arguments[0]), tensor_type(call)
    if before is None or after is None:
        return False
    return before.dtype in ("float16", "bfloat16") and after.dtype == "float32"


CONVERSIONS: OperatorTable[Conversion] = OperatorTable(
    {"qnn.dequantize_blocks": _blocks, "cast": _widened}
)
READERS: OperatorTable[Reader] = OperatorTable({"nn.dense": 1, "nn.matmul": 1, "take": 0})


def is_stored(node: Expr) -> bool:
    """Whether a call converts stored weights, all of its arguments being constants.

    One number or row of them is as well computed beforehand.
    """
    rule = CONVERSIONS.rule_of(node)
    if rule is None or not isinstance(node, Call) or not rule(node):
        return False
    type_ = tensor_type(node)
    is_matrix = type_ is not None and len(type_.shape) > 1
    return is_matrix and all(isinstance(each, Constant) for each in node.arguments)


def kept_conversions(root: Expr) -> set[Expr]:
    """The conversions of stored weights below a node that only readers read."""
    found: set[Expr] = set()
    others: set[Expr] = {root}
    for node in post_order(root, enter=lambda each: not is_opaque_function(each)):
        if is_stored(node):
            found.add(node)
        position = READERS.rule_of(node)
        converts = (
            node.arguments[position] if position is not None and isinstance(node, Call) else None
        )
        others.update(child for child in children(node) if child is not converts)
    return found - others
