"""What a program does to run a region: one job for all kernels, with a table of addresses.

The table has the addresses of the inputs, of the outputs, of the workspace and of the program's
constants. Where sizes of what lies in it are known at run time only, the workspace is cut into
blocks, whose addresses follow. What else the kernels need of sizes comes behind these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relay_tune.codegen.kernel_calls import Calls
from relay_tune.ir.dim import Dim
from relay_tune.program.region import SizeCheck
from relay_tune.program.size_naming import SizeSource
from relay_tune.quick_dataclass import dataclass

SMALLEST_SHARED_WORK = 200_000
"""A region of fewer points runs on the calling thread; waking others would take longer."""

Extents = tuple[Dim, ...]
"""Numbers whose product is the bytes of a tensor."""


@dataclass(frozen=True, slots=True)
class SizeCase:
    """Bounds of sizes, the least and the largest of each, within which code is chosen."""

    bounds: tuple[tuple[Dim, int, int], ...]


Word = Dim | tuple[SizeCase, ...]
"""A size; or the number of the first case that fits, and how many there are where none does."""


@dataclass(frozen=True, slots=True)
class DynamicSizes:
    """The sizes of a region that are known at run time only, as expressions of symbols.

    Attributes:
        symbols: for each symbol the input, and the axis of it, whose size it is.
        checks: what must hold before anything runs.
        blocks: for each block of the workspace the tensors that lie in it, one at a time.
        words: what stands behind the addresses in the table.
    """

    symbols: Mapping[str, SizeSource]
    checks: tuple[SizeCheck, ...]
    blocks: tuple[tuple[Extents, ...], ...]
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class FoundSizes:
    """A region whose result, an int64 vector, are the values of symbols; else a message."""

    symbols: tuple[str, ...]
    step: RegionStep
    message: str


@dataclass(frozen=True, slots=True)
class StretchedStep:
    """A region for inputs whose size at an axis is 1."""

    place: SizeSource
    step: RegionStep


@dataclass(frozen=True, slots=True)
class RegionStep:
    """All that one run of a region does.

    Attributes:
        job: the function that runs its kernels, on the threads there are, given the table.
        calls: the kernels that it calls.
        workspace: the bytes of its workspace, where all sizes of what lies in it are known.
        points: how often the innermost statements run; few run on the calling thread.
        shapes: those of the results, also where types have them open.
        sizes: those that are known at run time only; None if there are none.
        found: what finds further sizes from the inputs; None if there are none.
        stretched: what runs instead where inputs do not pass the checks of sizes; the first that
            fits.
    """

    job: str
    calls: Calls
    workspace: int
    points: Dim
    shapes: tuple[tuple[Dim, ...], ...]
    sizes: DynamicSizes | None = None
    found: FoundSizes | None = None
    stretched: tuple[StretchedStep, ...] = ()

    def with_parts(self) -> Iterator[RegionStep]:
        """The step, what runs before it, and what may run instead of it."""
        yield self
        for stretched in self.stretched:
            yield from stretched.step.with_parts()
        if self.found is not None:
            yield from self.found.step.with_parts()
