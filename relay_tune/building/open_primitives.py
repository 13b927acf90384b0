"""Primitives whose sizes are known at run time only: their tensor programs, and a check of them.

Code for open sizes is made with an example: sizes are integers that remember how they are computed
(`relay_tune.tensor.size`), and schedules are chosen for the example's numbers. Nothing else may
depend on them. So the code is written twice, for two examples, and both texts must be equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from relay_tune.errors import FIX_SIZES, NoNativeCodeError
from relay_tune.first_order.open_primitive import OpenPrimitive
from relay_tune.ir.dim import Symbol
from relay_tune.op.lower import TensorProgram, lower_function, lower_sizes
from relay_tune.tensor.size import EXAMPLE_SIZE, symbolic_size


@dataclass(frozen=True, slots=True)
class Example:
    """What open sizes are in the example for which code is made.

    Attributes:
        own: the sizes of some symbols.
        others: that of all other symbols.
    """

    own: Mapping[str, int] = field(default_factory=dict)
    others: int = EXAMPLE_SIZE

    @property
    def next(self) -> Example:
        """Another example: each size is one more."""
        own = {name: size + 1 for name, size in self.own.items()}
        return Example(own, self.others + 1)


USUAL_EXAMPLE = Example()


def example_sizes(primitive: OpenPrimitive, example: Example = USUAL_EXAMPLE) -> dict[str, int]:
    """The sizes of a primitive as symbolic sizes that are numbers in the example."""
    names = (*primitive.symbols, *primitive.found)
    own, others = example.own, example.others
    return {name: symbolic_size(Symbol(name), own.get(name, others)) for name in names}


def open_program(primitive: OpenPrimitive, example: Example = USUAL_EXAMPLE) -> TensorProgram:
    """The tensor program of a primitive for an example."""
    sizes = example_sizes(primitive, example)
    return lower_function(primitive.function, sizes, [sizes[name] for name in primitive.found])


def size_program(primitive: OpenPrimitive, example: Example = USUAL_EXAMPLE) -> TensorProgram:
    """The tensor program that finds the sizes of a primitive's results from its inputs."""
    return lower_sizes(primitive.function, example_sizes(primitive, example))


def no_open_code(title: str, reason: str) -> NoNativeCodeError:
    """The error of a primitive for which there is no code."""
    return NoNativeCodeError(
        f"The operation {title} cannot be compiled for sizes that are known at run time only.",
        notes=(reason,),
        remedy=f"{FIX_SIZES} rt.interpret(module, ...) runs it as it is, slowly.",
    )
