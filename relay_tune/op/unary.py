"""Registration of elementwise operators of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay_tune.ir.operator import FusionKind, Operator, Relation, define
from relay_tune.op.elements import Array, elementwise_computation
from relay_tune.tensor.expression import Scalar
from relay_tune.typing.relations.elementwise import identity


def unary_operator(
    name: str,
    element: Callable[[Scalar], Scalar],
    reference: Callable[[Array], Any],
    documentation: str,
    relation: Relation = identity,
) -> Operator:
    """Register an operator of one tensor, one scalar expression for each element."""

    def meaning(attributes: Any, data: Array) -> Array:
        with np.errstate(all="ignore"):
            result = np.asarray(reference(data))
        return result if relation is not identity else result.astype(data.dtype, copy=False)

    return define(
        name=name,
        arguments=("data",),
        relation=relation,
        kind=FusionKind.ELEMENTWISE,
        compute=elementwise_computation(name, element),
        reference=meaning,
        documentation=documentation,
    )
