"""The values that the choices of a nest may have: what could be fast on a machine."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import permutations
from math import prod

from relay_tune.machine.machine import LINE_BYTES, Machine
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.fetched_operands import may_be_fetched
from relay_tune.schedule.intrinsics.choices import tile_alternatives
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.schedule import MAXIMUM_TILE_POINTS
from relay_tune.schedule.space.vector_axes import vector_choices
from relay_tune.tensor.expression import Load
from relay_tune.tensor.size import is_symbolic, nominal

TILE_EXTENTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16)
INDEPENDENT_EXTENTS = (1, 2, 3, 4)
"""Of axes along which nothing is used again."""
VECTOR_COUNTS = (1, 2, 3, 4, 5, 6, 8)
WIDE_VECTOR_COUNTS = (10, 12, 16, 24, 32)
"""More, of sums that read each element once: their tiles take as long as their jumps are few."""
UNROLLS = (1, 2, 4, 8)
ROW_COUNTS = (1, 2, 4, 8, 16)
"""Rows that are reduced along the lanes together."""
BLOCK_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
LEAST_BLOCK = 24
"""Fewer elements of an axis are no more than a tile or two."""
LEAST_BLOCKED_SHARE = 0.25
"""Blocks are useless where all that a nest reads takes less than this share of the second cache."""
MAXIMUM_WINDOW, MAXIMUM_GROUPED_WINDOW = 49, 72
"""Steps of a window that may be written out; beside channels of their own, as in groups, more."""


def alternatives(
    analysis: NestAnalysis, machine: Machine, opened: Collection[int] = ()
) -> dict[str, tuple[object, ...]]:
    """The values of each choice of a nest, in an order in which neighbours are similar.

    The sizes of axes at the indices `opened` are those of an example.
    """
    nest = analysis.nest
    if analysis.match is not None:
        return tile_alternatives(analysis.match)
    vectors = vector_choices(analysis, machine, opened)
    choices: dict[str, tuple[object, ...]] = {"vector": tuple(vectors)}
    longest = max((_vector_extent(nest, v) // v[1] for v in vectors if v[0] >= 0), default=1)
    most = max(1, min(longest, _most_vectors(analysis, max(lanes for _, lanes in vectors))))
    wide = any(map(analysis.is_read_once, analysis.body_accesses))
    counts = VECTOR_COUNTS + WIDE_VECTOR_COUNTS if wide else VECTOR_COUNTS
    choices["vectors"] = tuple(n for n in counts if n <= most)
    for index in analysis.independent:
        extent = nest.axes[index].extent
        choices[f"tile{index}"] = tuple(n for n in INDEPENDENT_EXTENTS if n <= extent)
    for index in _tiled_axes(analysis):
        choices[f"tile{index}"] = _row_extents(analysis, index) or _tile_extents(
            nest.axes[index].extent
        )
    if nest.axes and any(index == -2 for index, _ in vectors):
        last = len(nest.axes) - 1
        rows = tuple(n for n in ROW_COUNTS if n <= max(nest.axes[last].extent, 1))
        choices.setdefault(f"tile{last}", rows)
    choices["order"] = tuple(_orders(analysis))
    for index in _blocked_axes(analysis, machine):
        choices[f"blocks{index}"] = _block_counts(nest.axes[index].extent)
    choices["reduction_order"] = tuple(_reduction_orders(analysis))
    choices["unroll"] = _unrolls(analysis)
    choices["prefetch"] = (False, True) if _reads_panels(analysis, machine) else (False,)
    return choices


def _most_vectors(analysis: NestAnalysis, lanes: int) -> int:
    """How many vectors a tile may have beside the axes that are written out in any case."""
    written = prod(axis.extent for axis in analysis.nest.axes if axis in analysis.written_out)
    return MAXIMUM_TILE_POINTS // (written * lanes)


def _vector_extent(nest: Nest, vector: tuple[int, int]) -> int:
    return nest.axes[vector[0]].extent if vector[0] >= 0 else 1


def _tiled_axes(analysis: NestAnalysis) -> list[int]:
    """Axes that may have several points in a register tile: the last ones with reuse.

    Where nothing is multiplied, those along which some elements lie beside each other, if others do
    not: they are transposed in registers. With them go those that fill up lines of the result.
    """
    nest = analysis.nest
    if nest.body is None or isinstance(nest.body, Load):
        read = (*analysis.body_accesses, *analysis.result_accesses)
        forms = [analysis.store_form, *(access.form for access in read)]
        contiguous = [
            index
            for index, axis in enumerate(nest.axes)
            if axis not in analysis.written_out
            and any(form is not None and form.coefficient(axis) == 1 for form in forms)
        ]
        if nest.body is None and len(contiguous) > 1:
            return [
                n for n in range(len(nest.axes)) if n in contiguous or _row_extents(analysis, n)
            ]
        if nest.body is None or len(contiguous) > 1:
            return contiguous if len(contiguous) > 1 else []
    around = _around_windows(analysis)
    reusing = [
        index
        for index, axis in enumerate(nest.axes)
        if axis.extent > 1
        and axis not in nest.carried
        and index not in around
        and any(a.form is not None and not a.form.coefficient(axis) for a in analysis.body_accesses)
    ]
    return reusing[-3:]


def _row_extents(analysis: NestAnalysis, index: int) -> tuple[int, ...]:
    """Extents to try on an axis along which a stored line goes on behind others, if it does.

    y[row, outer, inner] with 4 inner points of 2 bytes: 8 outer ones are in a line. A line that is
    stored 8 bytes at a time has left the first cache before the next ones come.
    """
    axis, form = analysis.nest.axes[index], analysis.store_form
    if analysis.nest.body is not None or form is None or axis in analysis.written_out:
        return ()
    if any(a.form is not None and a.form.coefficient(axis) == 1 for a in analysis.accesses):
        return ()
    apart = form.coefficient(axis)
    if is_symbolic(apart) or apart < 2:
        return ()
    most = min(LINE_BYTES // (apart * analysis.store_bytes), nominal(axis.extent))
    return tuple(n for n in range(1, most + 1) if most % n == 0) if most > 1 else ()


def _blocked_axes(analysis: NestAnalysis, machine: Machine) -> list[int]:
    """Axes whose tiles may run in blocks: those with reuse, if the data outgrow a cache's share."""
    read = sum(access.all_bytes for access in analysis.body_accesses)
    if read <= machine.memories[1].bytes * LEAST_BLOCKED_SHARE:
        return []
    indices = {*_tiled_axes(analysis), *analysis.beside_windows}
    return [p for p in sorted(indices) if len(_block_counts(_extent(analysis, p))) > 1]


def _around_windows(analysis: NestAnalysis) -> range:
    """The indices of axes outside of those that sliding windows move along: images of a batch.

    Tiles of several images share no row of a window.
    """
    beside = analysis.beside_windows
    indices = range(len(analysis.nest.axes))
    return range(next((n for n in indices if n not in beside), 0) if beside else 0)


def _extent(analysis: NestAnalysis, index: int) -> int:
    return analysis.nest.axes[index].extent


def _reads_panels(analysis: NestAnalysis, machine: Machine) -> bool:
    """Whether a nest reduces over an operand in pieces that are worth a prefetch."""
    return any(may_be_fetched(analysis, access, machine) for access in analysis.body_accesses)


def _block_counts(extent: int) -> tuple[int, ...]:
    return tuple(n for n in BLOCK_COUNTS if n == 1 or extent // n >= LEAST_BLOCK)


def _tile_extents(extent: int) -> tuple[int, ...]:
    """Extents to try on an axis: small ones, and divisors up to 28."""
    found = {n for n in TILE_EXTENTS if n <= extent}
    found |= {n for n in range(1, min(extent, 28) + 1) if extent % n == 0}
    return tuple(sorted(found))


def _orders(analysis: NestAnalysis) -> Iterator[tuple[int, ...]]:
    """Loop orders: the axes as stored, with the ones that have reuse permuted among their indices.

    Axes without reuse stay where they are; permuting them changes nothing but strides. Without a
    reduction: the axes as stored, and as what is read lies in memory.
    """
    nest, tiled = analysis.nest, _tiled_axes(analysis)
    indices = tuple(range(len(nest.axes)))
    if nest.body is None:
        yield from dict.fromkeys((indices, *_orders_as_read(analysis)))
        return
    moving = tiled if len(tiled) <= 3 else tiled[-3:]
    moving = sorted({*moving, *analysis.independent})
    seen = set()
    for arrangement in permutations(moving):
        order = list(indices)
        for slot, index in zip(moving, arrangement, strict=True):
            order[slot] = index
        if tuple(order) not in seen:
            seen.add(tuple(order))
            yield tuple(order)


def _orders_as_read(analysis: NestAnalysis) -> Iterator[tuple[int, ...]]:
    """The orders in which the axes of what a nest without a reduction reads follow each other.

    Axes that are written out stay where they are.
    """
    axes = analysis.nest.axes
    moving = [n for n, axis in enumerate(axes) if axis not in analysis.written_out]
    for access in analysis.result_accesses:
        if access.form is None:
            continue
        apart = {n: access.form.coefficient(axes[n]) for n in moving}
        if all(apart[n] > 0 for n in moving if axes[n].extent > 1):
            ordered = iter(sorted(moving, key=lambda n: -apart[n]))
            yield tuple(next(ordered) if n in moving else n for n in range(len(axes)))


def _unrolls(analysis: NestAnalysis) -> tuple[int, ...]:
    """Steps to write out: powers of two; of small windows nothing, whole rows, or all.

    Numbers that share a byte are taken out of it together.
    """
    nest = analysis.nest
    if not nest.reduction:
        return (1,)
    if analysis.has_blocks:
        in_byte = nest.reduction[-1].extent
        whole = tuple(n for n in UNROLLS[2:] if n % in_byte == 0)
        return whole or UNROLLS
    rows, steps = [1], 1
    for axis in reversed(nest.reduction):
        steps *= axis.extent
        rows.append(steps)
    return tuple(rows) if is_small_window(nest) else UNROLLS


def is_small_window(nest: Nest) -> bool:
    """Whether all steps of a nest's reduction may be written out."""
    most = MAXIMUM_WINDOW if len(nest.reduction) < 3 else MAXIMUM_GROUPED_WINDOW
    return 1 < prod(axis.extent for axis in nest.reduction) <= most


def _reduction_orders(analysis: NestAnalysis) -> Iterator[tuple[int, ...]]:
    """Orders of the reduction loops: as written, and with each axis in turn as the innermost.

    Blocks of constants of a narrow type stay whole.
    """
    indices = list(range(len(analysis.nest.reduction)))
    yield tuple(indices)
    if analysis.has_blocks:
        return
    for index in indices[:-1]:
        yield (*(p for p in indices if p != index), index)
