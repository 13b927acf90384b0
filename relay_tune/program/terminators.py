"""Ends of basic blocks; see `relay_tune.program.instructions`."""

from __future__ import annotations

from relay_tune.program.instructions import Operation, Register
from relay_tune.program.layouts import ObjectLayout
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Terminator(Operation):
    """Base of what a block ends with."""

    @property
    def targets(self) -> tuple[int, ...]:
        """The labels of the blocks that may come next."""
        return ()


@dataclass(frozen=True, eq=False, slots=True)
class Jump(Terminator):
    """Go on with a block, whose parameters get the arguments."""

    CONSUMES = ("arguments",)
    target: int
    arguments: tuple[Register, ...] = ()

    @property
    def targets(self) -> tuple[int, ...]:
        """The block."""
        return (self.target,)


@dataclass(frozen=True, eq=False, slots=True)
class Branch(Terminator):
    """Go on with one of two blocks, which nothing else goes to."""

    condition: Register
    if_true: int
    if_false: int

    @property
    def operands(self) -> tuple[Register, ...]:
        """The condition, a number."""
        return (self.condition,)

    @property
    def targets(self) -> tuple[int, ...]:
        """The blocks."""
        return (self.if_true, self.if_false)


@dataclass(frozen=True, eq=False, slots=True)
class TestLayout(Terminator):
    """Whether an object has a layout: go on with one of two blocks, which nothing else goes to."""

    BORROWS = ("object",)
    object: Register
    layout: ObjectLayout
    if_true: int
    if_false: int

    @property
    def targets(self) -> tuple[int, ...]:
        """The blocks."""
        return (self.if_true, self.if_false)


@dataclass(frozen=True, eq=False, slots=True)
class Return(Terminator):
    """Give values to the caller."""

    CONSUMES = ("values",)
    values: tuple[Register, ...]


@dataclass(frozen=True, eq=False, slots=True)
class TailCall(Terminator):
    """Return what a call of a function returns, in its place on the stack."""

    CONSUMES = ("arguments",)
    function: str
    arguments: tuple[Register, ...]


@dataclass(frozen=True, eq=False, slots=True)
class TailCallClosure(Terminator):
    """Return what a call of a closure returns, in its place on the stack."""

    CONSUMES = ("closure", "arguments")
    closure: Register
    arguments: tuple[Register, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Fail(Terminator):
    """End the run with an error."""

    message: str
