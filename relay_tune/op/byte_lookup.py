"""qnn.lookup: a function of one byte as a table of its 256 values."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, integer_shape
from relay_tune.tensor.expression import INDEX, Scalar, Tensor, cast, reinterpret
from relay_tune.tensor.tensor import compute
from relay_tune.typing.relations import quantization as relations


def _computation(attributes: Attributes, inputs: Any, types: Any) -> list[Tensor]:
    data: Tensor = inputs[0]
    table: Tensor = inputs[1]

    def element(*axes: Scalar) -> Scalar:
        return table[cast(reinterpret(data[axes], "uint8"), INDEX)]

    return [compute("lookup", integer_shape(types[0]), element)]


def _reference(attributes: Attributes, data: Array, table: Array) -> Array:
    return table[np.ascontiguousarray(data).view(np.uint8).reshape(data.shape)]


lookup = define(
    name="qnn.lookup",
    arguments=("data", "table"),
    relation=relations.lookup,
    kind=FusionKind.ELEMENTWISE,
    compute=_computation,
    reference=_reference,
    documentation=(
        "table[data] for each byte of data, of a table of 256 bytes; that of a signed byte is "
        "at the number which its bits are without a sign."
    ),
)
