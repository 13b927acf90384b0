"""Knowledge of a Relay value while a function is lowered."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from relay_tune.ir.expr import Constant
from relay_tune.ir.types import Type
from relay_tune.program.instructions import Register
from relay_tune.program.kinds import kinds_of
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class KnownFunction:
    """A function of the program with the values of its leading parameters."""

    name: str
    captured: tuple[Register, ...] = ()


Value = Register | Constant | KnownFunction | tuple["Value", ...]
"""A component in a register, a constant, a function that is known, or a tuple of values."""


def leaves(value: Value) -> Iterator[Register | Constant | KnownFunction]:
    """The parts of a value that are no tuples, left to right."""
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, tuple):
            pending.extend(reversed(current))
        else:
            yield current


def registers_of(value: Value) -> Iterator[Register]:
    """All registers that a value is made of."""
    for leaf in leaves(value):
        if isinstance(leaf, Register):
            yield leaf
        elif isinstance(leaf, KnownFunction):
            yield from leaf.captured


def renamed(value: Value, new: Callable[[Register], Register]) -> Value:
    """A value with other registers."""
    match value:
        case Register():
            return new(value)
        case KnownFunction():
            return KnownFunction(value.name, tuple(new(register) for register in value.captured))
        case tuple():
            return tuple(renamed(part, new) for part in value)
        case _:
            return value


def new_registers(type_: Type) -> tuple[Register, ...]:
    """One register for each component of a type."""
    return tuple(Register(kind) for kind in kinds_of(type_))
