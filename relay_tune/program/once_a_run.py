"""Which regions a run of a program passes once: what lies between two runs of each is all others.

    @main:  block0:  region 0;  call @loop;  region 1;  return        regions 0 and 1

Those of functions that are called may run any number of times, those behind a branch never.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay_tune.program.instructions import RunRegion
from relay_tune.program.program import Block, FirstOrderFunction, FirstOrderProgram
from relay_tune.program.region import Region
from relay_tune.program.terminators import Jump


def regions_once_a_run(program: FirstOrderProgram) -> tuple[Region, ...]:
    """The regions that every run of the program passes once; none where it calls its entry."""
    outer = program.outer_function
    return () if outer is None else tuple(_passed(outer))


def _passed(function: FirstOrderFunction) -> Iterator[Region]:
    """The regions in front of the first branch."""
    blocks = {block.label: block for block in function.blocks}
    block: Block | None = function.blocks[0]
    while block is not None:
        yield from (each.region for each in block.instructions if isinstance(each, RunRegion))
        after = block.terminator
        block = blocks[after.target] if isinstance(after, Jump) else None
