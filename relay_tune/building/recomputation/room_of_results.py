"""Values in the memory of results, which is there from the begin.

    dw = adjoint(x, e);  w2 = subtract(w, dw * 0.1)         w2 is a result: dw may lie in its memory

What alone reads the value has to write the result, and its kernel to allow that the two share
memory. A result that may lie where an input lies keeps to that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from dataclasses import replace

from relay_tune.program.in_place_outputs import BufferUses, equal_pairs
from relay_tune.program.region import Buffer, KernelRun, Part, Region


def with_values_in_results(
    region: Region, in_place: Callable[[KernelRun], Container[tuple[int, int]]]
) -> Region:
    """The region with such values as parts of results.

    `in_place` has the inputs and outputs of a run by number that may lie in the same memory.
    """
    between, results = region.between, set(region.outputs)
    wholes = [region.located(buffer).whole for run in region.runs for buffer in run.inputs]
    reads = Counter(wholes)
    uses = BufferUses.of(region)
    found: dict[Buffer, Buffer] = {}
    for run in region.runs:
        allowed = in_place(run)
        for read, written, old, new in equal_pairs(region, run, between, results):
            is_free = reads[old] == 1 and not any(uses.only_run(e, new) for e in region.inputs)
            if (read, written) in allowed and old not in found and is_free:
                found[old] = new
    taken = {new: old for old, new in found.items()}  # a result has room for one
    found = {old: new for new, old in taken.items()}
    if not found:
        return region
    parts = {
        view: Part(found.get(part.whole, part.whole), part.offset)
        for view, part in region.parts.items()
    }
    return replace(region, parts={**parts, **{old: Part(new, 0) for old, new in found.items()}})
