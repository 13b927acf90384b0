"""Kernels, and where their arguments come from, as a program calls them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from relay_tune.codegen.main_function import KernelCall

SMALLEST_SHARED_WORK = 200_000
"""A step of fewer points runs on the calling thread; waking others would take longer."""


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
    """A call of one kernel; `sizes` are the symbols that follow its arguments."""

    symbol: str
    arguments: tuple[Argument, ...]
    sizes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenSizes:
    """The sizes of a primitive that are known at run time only.

    Attributes:
        symbols: for each symbol the input, and the axis of it, whose size it is, times a number.
        checks: sizes of inputs (input, axis) that must be as given.
        outputs: the shape of each result.
    """

    symbols: Mapping[str, tuple[int, int, int]]
    checks: tuple[tuple[tuple[int, int], int], ...]
    outputs: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class SizeCase:
    """Another step, which runs where symbols are in bounds: the least and the largest size."""

    bounds: Mapping[str, tuple[int, int]]
    step: KernelStep


@dataclass(frozen=True, slots=True)
class FoundSizes:
    """A step whose result, an int64 vector, are the values of symbols."""

    symbols: tuple[str, ...]
    step: KernelStep


@dataclass(frozen=True, slots=True)
class StretchedStep:
    """A step for inputs whose size at a place (input, axis) is 1."""

    place: tuple[int, int]
    step: KernelStep


@dataclass(frozen=True, slots=True)
class KernelStep:
    """All that one run of a primitive does.

    Attributes:
        title: the primitive in words.
        calls: its kernels in order.
        arguments: the arguments of all kernels, one after the other.
        workspace: the bytes of each tensor that lives from one kernel to a later one; perhaps open
            sizes.
        job: the function that runs all kernels in shares, on the threads there are, given a table
            of `arguments` and, after them, of `job_sizes`; None where calls will do.
        job_sizes: the symbols whose values the job is given.
        points: how often the innermost statements run. Where that is an open size, calls are made
            in place of the job if it is less than SMALLEST_SHARED_WORK.
        sizes: the open sizes; None if there are none.
        found: what finds further sizes from the inputs; None if there are none.
        cases: steps that do the same for some sizes, better; the first that fits runs instead.
        stretched: steps for inputs that do not pass the checks of sizes; the first that fits runs.
    """

    title: str
    calls: tuple[StepCall, ...]
    arguments: tuple[Argument, ...]
    workspace: tuple[int, ...]
    job: str | None
    job_sizes: tuple[str, ...] = ()
    points: int = 0
    sizes: OpenSizes | None = None
    found: FoundSizes | None = None
    cases: tuple[SizeCase, ...] = ()
    stretched: tuple[StretchedStep, ...] = ()

    def with_parts(self) -> Iterator[KernelStep]:
        """The step and all others that may run instead of it or before it."""
        yield self
        for case in self.cases:
            yield from case.step.with_parts()
        for stretched in self.stretched:
            yield from stretched.step.with_parts()
        if self.found is not None:
            yield from self.found.step.with_parts()


@dataclass(frozen=True, slots=True)
class RegionStep:
    """All that one run of a region does.

    Attributes:
        job: the function that runs its kernels, on the threads there are, given a table of the
            addresses of its inputs, its outputs, its workspace and the program's constants.
        workspace: the bytes of its workspace.
        is_shared: whether there is so much to do that several threads are worth it.
        calls: the kernels of each of its runs.
    """

    job: str
    workspace: int
    is_shared: bool
    calls: tuple[tuple[KernelCall, ...], ...]
