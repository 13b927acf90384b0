"""Programs whose recurrences run in as many segments as a limit of memory asks for.

Each segment but the last one is computed again, so few are faster, and need more memory. What a
number of segments needs is known when it is built (`relay_tune.transform.segments`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from relay_tune.building.work import rough_cycles
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.errors import MemoryLimitError
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.runtime.target_machine import machine_of
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.module_pass import same_scope
from relay_tune.transform.segments.recurrences import recurrences

LEAST_STEPS = 2
"""Steps of a segment, which keeps its first state."""


def most_segments(typed: Module) -> int:
    """Into how many segments the longest recurrence of a program may be divided; 1: there is none.

    Of main alone: functions that call themselves have their steps one by one.
    """
    body = ToGraphNormalForm()(typed).main.body
    found = recurrences(list(post_order(body, enter=same_scope)), 1)
    return max((len(each.products) // LEAST_STEPS for each in found), default=1)


def within_limit(compiled: Callable[[int], CompiledFunctions], most: int) -> CompiledFunctions:
    """A program in few segments that keeps its limit.

    Args:
        compiled: the program in so many segments; MemoryLimitError where the limit is not kept.
        most: the most segments.

    Where a limit has changed what a program without segments runs, two may be faster. With segments
    nothing else is looked for, so it counts as no change. Raises the MemoryLimitError with the
    least limit that was found.
    """
    best: MemoryLimitError | None = None
    count = 1
    while True:
        try:
            found = compiled(count)
        except MemoryLimitError as error:
            best = error if best is None or error.least < best.least else best
            if count >= most:
                raise best from None
            count = min(max(2 * count, -(-count * error.least // max(error.limit, 1))), most)
            continue
        if count > 1:
            return replace(found, is_strained=False)
        return _faster(found, compiled) if found.is_strained and most > 1 else found


def _faster(
    found: CompiledFunctions, compiled: Callable[[int], CompiledFunctions]
) -> CompiledFunctions:
    """A program, or it in two segments if that seems to take less time."""
    try:
        other = compiled(2)
    except MemoryLimitError:
        return found
    return replace(other, is_strained=False) if _cycles(other) < _cycles(found) else found


def _cycles(compiled: CompiledFunctions) -> float:
    """About what all kernels take."""
    machine = machine_of(compiled.target)
    works = (each.work for region in compiled.regions for each in region.steps)
    return sum(rough_cycles(work, machine) for work in works if work is not None)
