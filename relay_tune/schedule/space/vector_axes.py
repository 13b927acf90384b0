"""Which axes may run along the lanes of vectors."""

from __future__ import annotations

from collections.abc import Collection

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.coefficients import Coefficients
from relay_tune.machine.machine import Machine
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.walk import axes_of


def vector_choices(
    analysis: NestAnalysis, machine: Machine, opened: Collection[int] = ()
) -> list[tuple[int, int]]:
    """(axis, lanes): the axes along which most accesses are contiguous, best first.

    The two that scatter least for each lane, and the one that scatters least though it is short. Of
    axes that scatter alike, one of a known size fills its lanes in any case, and of those that are
    `opened` the innermost is longer than that of a batch, which is often 1.
    """
    nest = analysis.nest
    lanes = most_lanes(analysis, machine)
    rated: list[tuple[float, bool, int, int, int, float]] = []
    apart = analysis.written_out.union(nest.carried)
    if nest.inside is not None:
        apart = apart.union(axes_of(nest.inside))
    for position, axis in enumerate(nest.axes):
        if axis in apart:
            continue
        fitting = min(lanes, 1 << max(axis.extent - 1, 0).bit_length())
        if fitting > 1:
            scattered = _scattered(analysis, axis, machine.coefficients)
            is_open = position in opened
            order = is_open, -position if is_open else position
            rated.append(
                (scattered / min(axis.extent, lanes), *order, position, fitting, scattered)
            )
    rated.sort()
    chosen = rated[:2]
    if rated and (least := min(rated, key=lambda each: each[-1])) not in chosen:
        chosen.append(least)
    found = [(position, fitting) for *_, position, fitting, _ in chosen]
    if nest.reduction and _lanes_of_reduction(analysis, machine.coefficients.least_lane_steps):
        extent = nest.reduction[-1].extent
        found.append((-2, min(lanes, 1 << (extent.bit_length() - 1))))
    return found or [(-1, 1)]


def most_lanes(analysis: NestAnalysis, machine: Machine) -> int:
    """Elements of a vector whose widest ones fill a register: no choice has more lanes."""
    sizes = [access.bytes for access in analysis.accesses]
    accumulated = 1 if analysis.nest.body is None else DTYPES[analysis.nest.body.dtype].itemsize
    return max(1, machine.vectors.bytes // max([*sizes, accumulated, analysis.store_bytes]))


def _scattered(analysis: NestAnalysis, axis: Axis, known: Coefficients) -> float:
    """A rough cost of running an axis along the lanes: scattered loads and stores count most."""
    cost = 1.0
    for access in analysis.body_accesses:
        if (
            access.form is None
            or access.form.coefficient(axis) not in (0, 1)
            and not access.constant
        ):
            cost += known.scattered_load
    for access in analysis.result_accesses:
        if access.form is None or access.form.coefficient(axis) not in (0, 1):
            cost += known.scattered_result
    if analysis.store_form is None or analysis.store_form.coefficient(axis) != 1:
        cost += known.scattered_result
    return cost


def _lanes_of_reduction(analysis: NestAnalysis, least: int) -> bool:
    """Whether the innermost reduction axis is contiguous wherever it occurs, and long enough.

    It is but a part of a row where constants have blocks.
    """
    axis = analysis.nest.reduction[-1]
    if axis.extent < least or analysis.has_blocks:
        return False
    return all(
        access.form is not None and access.form.coefficient(axis) in (0, 1)
        for access in analysis.body_accesses
    )
