"""Which operands of a tiled nest can be fetched ahead, panel by panel (see `loops.prefetch`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from relay_tune.machine.machine import Machine
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.access import Access
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.tile import distinct_places
from relay_tune.schedule.intrinsics.match import IntrinsicMatch
from relay_tune.schedule.loops.prefetch.limits import MOST_ELEMENTS
from relay_tune.schedule.loops.prefetch.next_part import next_part, part_rows
from relay_tune.schedule.loops.prefetch.panels import has_whole_groups, pieces_of
from relay_tune.schedule.loops.prefetch.right_operands import sharing_tiles
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.index import is_injective
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.streamed import is_streamed

REMEMBERED = 1 << 12


@remembered(REMEMBERED)
def may_lie_in_pieces(analysis: NestAnalysis, access: Access) -> bool:
    """Whether tiles may read an operand in pieces which can be fetched ahead.

    Packed constants always lie so.
    """
    nest, form = analysis.nest, access.form
    if access.constant:
        return True
    if access.is_near or form is None or access.repeats:
        return False
    used = [axis for axis in (*nest.axes, *nest.reduction) if form.coefficient(axis)]
    if any(is_symbolic(axis.extent) for axis in used) or not is_injective(form, used):
        return False
    return any(form.coefficient(axis) for axis in nest.reduction)


def may_be_fetched(analysis: NestAnalysis, access: Access, machine: Machine) -> bool:
    """Whether an operand may lie in pieces and is large enough for them to be worth a prefetch."""
    is_large = access.all_bytes >= machine.coefficients.least_fetched
    return is_large and may_lie_in_pieces(analysis, access)


def fetched_ahead(
    analysis: NestAnalysis, choice: TileChoice, machine: Machine
) -> tuple[Access, ...]:
    """What can be fetched for the next tile: an operand, of an intrinsic's all constant parts.

    Several tiles in a row share it, or it is a constant that is read once, by tiles that use it
    often enough. What is read again, as for each block of a group of nests, is near by then.
    """
    if analysis.match is not None:
        return _fetched_blocks(analysis, choice, analysis.match, machine)
    nest = analysis.nest
    order = [nest.reduction[position] for position in choice.reduction_order]
    if not has_whole_groups(order, choice.unroll):
        return ()
    tile = dict(zip(nest.axes, choice.tile, strict=True))
    shared = sorted(_shared(analysis, choice), key=lambda access: not access.constant)
    for access in (*shared, *_read_once(analysis, choice, tile)):
        if not may_be_fetched(analysis, access, machine):
            continue
        if not _has_several(analysis, access, tile):
            continue
        if access.constant or _lies_in_pieces(analysis, access, tile):
            return (access,)
    return ()


def asks_for_next_part(analysis: NestAnalysis, choice: TileChoice) -> bool | None:
    """Whether the operands of the next part are fetched while one is computed; None without parts.

    Constants have fetches of their own. Blocks that each go through all parts fetch nothing.
    """
    if analysis.match is not None or any(access.constant for access in analysis.body_accesses):
        return None
    if part_rows(analysis.nest, choice):
        return next_part(analysis.nest, choice) is not None
    if max(choice.blocks, default=1) == 1:
        return None
    whole = replace(choice, blocks=(1,) * len(choice.blocks))
    return False if part_rows(analysis.nest, whole) else None


def _fetched_blocks(
    analysis: NestAnalysis, choice: TileChoice, match: IntrinsicMatch, machine: Machine
) -> tuple[Access, ...]:
    parts = tuple(access for access in analysis.body_accesses if access.constant)
    fetched = sum(access.all_bytes for access in parts)
    is_little = fetched < machine.coefficients.least_fetched
    return () if is_little or sharing_tiles(match, choice) is None else parts


def _has_several(analysis: NestAnalysis, access: Access, tile: Mapping[Axis, int]) -> bool:
    """Whether the tiles of a nest do not all read the same piece of an operand."""
    form = access.form
    return form is not None and any(
        form.coefficient(axis) and tile[axis] < axis.extent for axis in analysis.nest.axes
    )


def _lies_in_pieces(analysis: NestAnalysis, access: Access, tile: Mapping[Axis, int]) -> bool:
    form = access.form
    return form is not None and pieces_of(form, tile, analysis.nest.reduction) is not None


def _shared(analysis: NestAnalysis, choice: TileChoice) -> list[Access]:
    """What several tiles in a row read together."""
    loops = outer_loops(analysis.nest.axes, choice)
    innermost = next((loop for loop in reversed(loops) if loop.count > 1), None)
    if innermost is None:
        return []
    axis = analysis.nest.axes[innermost.place]
    return [a for a in analysis.body_accesses if a.form and not a.form.coefficient(axis)]


def _read_once(
    analysis: NestAnalysis, choice: TileChoice, tile: Mapping[Axis, int]
) -> list[Access]:
    """Constants that no loop over tiles reads again, and that are used more than what is swept."""
    nest, near = analysis.nest, analysis.near
    loops = [nest.axes[loop.place] for loop in outer_loops(nest.axes, choice) if loop.count > 1]
    steps = {axis: axis.extent for axis in nest.reduction}
    found = []
    for access in analysis.body_accesses if near.repeats == 1 else ():
        form = access.form
        if form is None or not access.constant or any(not form.coefficient(a) for a in loops):
            continue
        uses = prod(n for axis, n in tile.items() if not form.coefficient(axis))
        if is_streamed(uses):
            continue
        if distinct_places(form, tile, steps, None, 1) <= MOST_ELEMENTS:
            found.append(access)
    return found
