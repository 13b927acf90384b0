"""Extents of inputs first, so that threads meet once for all of them.

before: rows = run take(t, i);  e = run index_extent(j);  more = run take(t, j)
after:  e = run index_extent(j);  rows = run take(t, i);  more = run take(t, j)

An extent (`relay_tune.op.index_check`) is a short kernel for one thread whose result nobody reads
before the end. Between others, each costs a meeting of all threads; kernels for one thread that
follow each other are one share of work (`relay_tune.codegen.main_function`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from relay_tune.program.region import Buffer, KernelRun, Origin, Region


def with_extents_first(region: Region, extents: Collection[Buffer]) -> Region:
    """The region with the extents of its inputs before all other kernels, in the same order."""
    known = set(extents)

    def is_late(run: KernelRun) -> bool:
        sources = (region.located(buffer).whole for buffer in run.inputs)
        is_ready = all(source.origin is not Origin.COMPUTED for source in sources)
        return not (is_ready and known.issuperset(run.outputs))

    return replace(region, runs=tuple(sorted(region.runs, key=is_late)))
