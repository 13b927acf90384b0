"""Primitives whose sizes are known at run time only: their tensor programs, and a check of them.

Code for open sizes is made with an example: sizes are integers that remember how they are computed
(`relay_tune.tensor.size`), and schedules are chosen for the example's numbers. Nothing else may
depend on them. So the code is written twice, for two examples, and both texts must be equal.
"""

from __future__ import annotations

from relay_tune.errors import FIX_SIZES, NoNativeCodeError
from relay_tune.first_order.open_primitive import OpenPrimitive
from relay_tune.ir.dim import Symbol
from relay_tune.op.lower import TensorProgram, lower_function, lower_sizes
from relay_tune.tensor.size import EXAMPLE_SIZE, symbolic_size

FEW_ROWS = 8
"""Up to so many rows, code is chosen for an example of so many."""


def example_sizes(primitive: OpenPrimitive, size: int = EXAMPLE_SIZE) -> dict[str, int]:
    """The sizes of a primitive as symbolic sizes that are all `size` in the example."""
    names = (*primitive.symbols, *primitive.found)
    return {name: symbolic_size(Symbol(name), size) for name in names}


def open_program(primitive: OpenPrimitive, size: int = EXAMPLE_SIZE) -> TensorProgram:
    """The tensor program of a primitive for the example in which all open sizes are `size`."""
    sizes = example_sizes(primitive, size)
    return lower_function(primitive.function, sizes, [sizes[name] for name in primitive.found])


def size_program(primitive: OpenPrimitive, size: int = EXAMPLE_SIZE) -> TensorProgram:
    """The tensor program that finds the sizes of a primitive's results from its inputs."""
    return lower_sizes(primitive.function, example_sizes(primitive, size))


def no_open_code(title: str, reason: str) -> NoNativeCodeError:
    """The error of a primitive for which there is no code."""
    return NoNativeCodeError(
        f"The operation {title} has no code for sizes that are known at run time only.",
        notes=(reason,),
        remedy=f"{FIX_SIZES} The interpreter runs it as it is.",
    )
