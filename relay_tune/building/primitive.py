"""A primitive function with what its kernels are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from relay_tune.ir.expr import Function
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.program.open_primitive import OpenPrimitive
from relay_tune.program.open_programs import USUAL_EXAMPLE, Example, open_program
from relay_tune.program.size_naming import SizeSource
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.program import TensorProgram


@dataclass(frozen=True, eq=False, slots=True)
class Primitive:
    """A primitive function with its tensor program.

    Functions of one key share kernels, but each has its own constants.

    Attributes:
        key: the key.
        program: what it computes.
        function: the typed function itself, with names for its sizes where they are dynamic.
        plan: of the program under the direct algorithm, where it is kept (see `planned`).
        schedule: its schedule, where it is chosen already.
        open: the names of its sizes, where some are known at run time only.
        example: of open sizes, for which its schedule is chosen.
        cases: primitives that do the same for some sizes, in the order in which they are tried.
        sizes: what finds the sizes of its results from its inputs, where an operator does that.
        stretched: what it is where a size is 1 that else must be equal to another.
        lower: gives its tensor program for an example.
        in_place: inputs and outputs by number that should be able to lie in the same memory.
    """

    key: PrimitiveKey
    program: TensorProgram
    function: Function
    plan: Plan | None = None
    schedule: Schedule | None = None
    open: OpenPrimitive | None = None
    example: Example = USUAL_EXAMPLE
    cases: tuple[PrimitiveCase, ...] = ()
    sizes: Primitive | None = None
    stretched: tuple[Stretched, ...] = ()
    lower: Callable[[OpenPrimitive, Example], TensorProgram] = open_program
    in_place: frozenset[tuple[int, int]] = frozenset()

    def with_parts(self) -> tuple[Primitive, ...]:
        """The primitive, those of its cases and where sizes are 1, and what finds its sizes."""
        sizes = () if self.sizes is None else (self.sizes,)
        stretched = (part for each in self.stretched for part in each.primitive.with_parts())
        return (self, *(case.primitive for case in self.cases), *sizes, *stretched)

    def at(self, sizes: Mapping[str, int]) -> Primitive:
        """The primitive whose code runs for these sizes, which fit each other."""
        fitting = (case.primitive for case in self.cases if case.fits(sizes))
        return next(fitting, self)


class Packing(Enum):
    """Which copy of the weights a case reads."""

    OWN = "its own"
    SHARED = "that of all cases which share it"
    SHARED_IF_LARGE = "the shared one in a program of large weights, else its own"


@dataclass(frozen=True, eq=False, slots=True)
class PrimitiveCase:
    """A primitive for some sizes.

    Attributes:
        bounds: the least and the largest size of some symbols; others may have any.
        primitive: its code.
        packing: which copy of the weights it reads.
    """

    bounds: Mapping[str, tuple[int, int]]
    primitive: Primitive
    packing: Packing = Packing.OWN

    def fits(self, sizes: Mapping[str, int]) -> bool:
        """Whether its code is for these sizes."""
        return all(low <= sizes[name] <= high for name, (low, high) in self.bounds.items())

    @property
    def most(self) -> int:
        """The largest of all sizes."""
        return max(high for _, high in self.bounds.values())


@dataclass(frozen=True, eq=False, slots=True)
class Stretched:
    """A primitive for inputs with one size of 1; `function` with its types as they are."""

    place: SizeSource
    function: Function
    primitive: Primitive
