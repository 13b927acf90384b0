"""A primitive function with what its kernels are made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relay_tune.building.open_primitives import USUAL_EXAMPLE, Example, open_program
from relay_tune.first_order.open_primitive import OpenPrimitive
from relay_tune.first_order.size_naming import SizeSource
from relay_tune.op.lower import TensorProgram
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False, slots=True)
class Primitive:
    """A primitive function with its tensor program.

    Functions of one key share kernels, but each has its own constants.

    Attributes:
        key: the key.
        program: what it computes.
        plan: of the program under the direct algorithm, where it is kept (see `planned`).
        schedule: its schedule, where it is chosen already.
        open: the names of its sizes, where some are known at run time only.
        example: of open sizes, for which its schedule is chosen.
        cases: primitives that do the same for some sizes, in the order in which they are tried.
        sizes: what finds the sizes of its results from its inputs, where an operator does that.
        stretched: what it is where a size is 1 that else must be equal to another.
        lower: gives its tensor program for an example.
    """

    key: PrimitiveKey
    program: TensorProgram
    plan: Plan | None = None
    schedule: Schedule | None = None
    open: OpenPrimitive | None = None
    example: Example = USUAL_EXAMPLE
    cases: tuple[PrimitiveCase, ...] = ()
    sizes: Primitive | None = None
    stretched: tuple[Stretched, ...] = ()
    lower: Callable[[OpenPrimitive, Example], TensorProgram] = open_program

    def with_parts(self) -> tuple[Primitive, ...]:
        """The primitive, those of its cases and where sizes are 1, and what finds its sizes."""
        sizes = () if self.sizes is None else (self.sizes,)
        stretched = (part for each in self.stretched for part in each.primitive.with_parts())
        return (self, *(case.primitive for case in self.cases), *sizes, *stretched)


@dataclass(frozen=True, eq=False, slots=True)
class PrimitiveCase:
    """A primitive for the sizes of a symbol among `least` .. `most`.

    Those of a primitive that share their packing read the same copy of its weights.
    """

    symbol: str
    least: int
    most: int
    primitive: Primitive
    shares_packing: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Stretched:
    """A primitive for inputs whose size at a place is 1."""

    place: SizeSource
    primitive: Primitive
