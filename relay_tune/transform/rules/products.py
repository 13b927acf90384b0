"""Products of matrices, so that operators that work row by row can run together."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr
from relay_tune.transform.matching import attribute, operator_call, rank, tensor_type
from relay_tune.transform.rules.rule import RuleTable
from relay_tune.transform.rules.shapes import transpose_axes
from relay_tune.transform.typed import call

PRODUCT = "nn.batch_matmul"


def shares_to_the_left(call_: Call) -> Expr | None:
    """A S^T is (S A^T)^T where S is a softmax along its rows.

    before: nn.batch_matmul(%a, transpose(nn.softmax(%x)), transpose_b=False)
    after:  transpose(nn.batch_matmul(nn.softmax(%x), %a, transpose_b=True))

    Attention over channels-first images is written like this. The product then reads the rows of S
    as they are made, and the small result is turned instead of the large matrix of shares.
    """
    left, right = call_.arguments
    dims = rank(right)
    turned = None if attribute(call_, "transpose_b") else operator_call(right, "transpose")
    if turned is None or dims is None or rank(left) != dims:
        return None
    axes = (*range(dims - 2), dims - 1, dims - 2)
    shares = operator_call(turned.arguments[0], "nn.softmax")
    if shares is None or transpose_axes(turned) != axes:
        return None
    if attribute(shares, "axis") % dims != dims - 1:
        return None
    types = [tensor_type(each) for each in (left, shares, call_)]
    if None in types or len({type_.dtype for type_ in types if type_ is not None}) != 1:
        return None
    turned_left = not attribute(call_, "transpose_a")
    product = call(PRODUCT, shares, left, transpose_a=False, transpose_b=turned_left)
    return call("transpose", product, axes=axes)


RULES: RuleTable = {PRODUCT: (shares_to_the_left,)}
