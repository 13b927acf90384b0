"""What Winograd's filtering costs beside its nests."""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import Machine
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.size import is_symbolic, nominal


def passing_cycles(between: Collection[Tensor], machine: Machine) -> float:
    """Cycles in which data of dynamic size pass from nest to nest beyond L2.

    The nests reckon with them as hidden by arithmetic, which small transforms have not enough of.
    And an image may be larger than the example, while what runs of tiles leave each other never is.
    (48 channels of 96x96 on one Zen 4 core: 2000 us in one block, 1050 in blocks of 24 tiles.)
    """
    sizes = [
        nominal(prod(tensor.shape)) * DTYPES[tensor.dtype].itemsize
        for tensor in between
        if any(map(is_symbolic, tensor.shape))
    ]
    second, third = machine.memories[1:3]
    return 2 * max(sum(sizes) - second.bytes, 0) / third.rate
