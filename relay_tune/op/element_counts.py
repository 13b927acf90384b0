"""The rule of operators that arrange elements anew: none is lost, and none is made up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import add, product
from relay_tune.ir.types import TensorType


def kept_elements(
    attributes: object, inputs: Sequence[TensorType], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    """The elements of the first argument, and those of all results together."""
    return product(inputs[0].shape), reduce(add, (product(tensor.shape) for tensor in outputs))
