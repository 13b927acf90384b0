"""Which parts of a reduction convert constants that are stored in a narrow type.

y[i, o] = sum(k) x[i, k] * float32(w[o, k])       float32(w[o, k]), whatever the row
"""

from __future__ import annotations

from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.expression import Cast, Load, Scalar, Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.walk import loads, sub_expressions


def conversions(nest: Nest, constants: frozenset[Tensor]) -> frozenset[Scalar]:
    """The nodes of a reduction's body that convert constants of a narrow type to floats."""
    if nest.body is None or not nest.body.dtype.startswith("float"):
        return frozenset()
    found = frozenset(node for node in sub_expressions(nest.body) if _is_constant(node, constants))
    converts = any(isinstance(node, Cast) or node.dtype == "int32" for node in found)
    return found if converts else frozenset()


def _is_constant(node: Scalar, constants: frozenset[Tensor]) -> bool:
    if isinstance(node, Load):
        return False
    tensors = [load.tensor for load in loads(node)]
    return bool(tensors) and all(
        isinstance(each, FlatView) and each.viewed in constants for each in tensors
    )
