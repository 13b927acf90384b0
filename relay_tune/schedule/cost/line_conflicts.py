"""Lines of a sliding window that push each other out of the first cache.

A cache puts a line where the low bits of its address say. Rows and columns of an image that are
many powers of two apart share few such places:

    576 channels of float32: columns 2304 = 9 * 256 bytes apart, rows a multiple of 256
    a page of 4096 bytes has 16 places 256 bytes apart, and a few lines find room in each

What a tile of 4 x 7 points reads under a 3 x 3 window of stride 2, 135 lines, then does not stay
between two taps, unless all taps are written out and each line is loaded once.
"""

from __future__ import annotations

from math import gcd, prod

from relay_tune.machine.machine import LINE_BYTES, PAGE_BYTES, Machine
from relay_tune.schedule.choice import TileChoice, unrolled_extents
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.load_count import (
    distinct_places,
    tiled_axes,
    vector_axis,
    vector_count,
)
from relay_tune.schedule.cost.shuffled_operands import whole_vectors


def reloaded_bytes(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> float:
    """The bytes of lines that a nest's tiles fetch again from the second cache, in all tiles."""
    vector = vector_axis(analysis.nest, choice)
    if vector is None:
        return 0.0
    nest = analysis.nest
    tile = {axis: min(extent, axis.extent) for axis, extent in tiled_axes(nest, choice)}
    window = {axis: axis.extent for axis in nest.reduction}
    order = [nest.reduction[place] for place in choice.reduction_order]
    unrolled = unrolled_extents(order, choice.unroll)
    rounds = prod(window.values()) / prod(unrolled.values())
    again = 0.0
    for access in analysis.body_accesses:
        if access.form is None or access.constant or access.form.coefficient(vector) != 1:
            continue
        if not analysis.beside_windows and not access.repeats:
            continue
        form = whole_vectors(access, nest.reduction)
        lines = distinct_places(form, tile, window, vector, choice.lanes)
        touched = rounds * distinct_places(form, tile, unrolled, vector, choice.lanes)
        strides = [form.coefficient(axis) * access.bytes for axis in (*tile, *window)]
        apart = gcd(PAGE_BYTES, *(stride for stride in strides if stride >= LINE_BYTES))
        together = max(1, min(tile[vector] * access.bytes, apart) // LINE_BYTES)
        room = machine.coefficients.kept_lines * together * PAGE_BYTES // max(apart, LINE_BYTES)
        missing = min(max((lines + vector_count(nest, choice, tile)) / room - 1, 0.0), 1.0)
        again += missing * max(touched - lines, 0.0) * choice.lanes * access.bytes
    return again * prod(-(-axis.extent // extent) for axis, extent in tile.items())
