"""The kernels of a primitive, and where their arguments come from, as a program calls them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Source(Enum):
    """Where an argument of a kernel lies."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument: input, output or workspace number `place`, or the constant at that offset."""

    source: Source
    place: int


@dataclass(frozen=True, slots=True)
class StepCall:
    """A call of one kernel."""

    symbol: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class KernelStep:
    """All that one run of a primitive does.

    Attributes:
        title: the primitive in words.
        calls: its kernels in order.
        arguments: the arguments of all kernels, one after the other.
        workspace: the bytes of each tensor that lives from one kernel to a later one.
        job: the function that runs all kernels in shares, on the threads there are, given a table
            of `arguments`; None where calls will do.
    """

    title: str
    calls: tuple[StepCall, ...]
    arguments: tuple[Argument, ...]
    workspace: tuple[int, ...]
    job: str | None
