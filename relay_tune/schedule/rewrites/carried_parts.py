"""Long sums in groups that run part by part: what these algorithms have in common.

    before:  y[i, o] = sum(n, s) x[n, s, i] * d[n, s, o]
    after:   for m, c:  n = m * C + c
               copies of x[n], of d[n]
               z[m, i, o] = (z[m, i, o] if c > 0 else 0) + sum(s) of what is copied
             y[i, o] = sum(m) z[m, i, o]

The stored sums `m` depend on nothing but the program: they may run on threads of their own. A
part's number `c` is an axis of the sum until nests are made, which then runs around the tiles.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.carried_sums import carrying, parts_of
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.rewrites.algorithm import Parameters
from relay_tune.schedule.rewrites.partial_sums import part_of_sum, sum_parts
from relay_tune.schedule.row_groups.grouped_steps import grouped_steps
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES, RowBlocks
from relay_tune.tensor.expression import Axis, Reduce, Tensor
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import substitute

SUM_STEPS = (512, 256)
"""Steps of a sum whose result is stored by itself, at least: shorter ones where these are few."""

CARRIED = "carried"
"""How axes of a sum are called that count its parts."""


@dataclass(frozen=True, eq=False, slots=True)
class CutSum:
    """A long sum in parts.

    Attributes:
        stored: into how many sums each axis is cut whose results are stored.
        part: the sums of all parts: of stored sums by number, then of their parts.
    """

    stored: tuple[int, ...]
    part: Computed


def cut_sum(
    stage: Computed, steps: int, constants: Collection[Tensor], last: int | None = None
) -> CutSum | None:
    """A stage's sum in parts of so many steps at most, its axis `last` last in their results.

    None where it is not worth it.
    """
    stored = next(filter(None, (sum_parts(stage, each, constants) for each in SUM_STEPS)), None)
    if stored is None:
        return None
    assert isinstance(stage.body, Reduce)
    rest = [axis.extent // count for axis, count in zip(stage.body.axes, stored, strict=True)]
    return CutSum(stored, part_of_sum(stage, (stored, parts_of(rest, steps)), last))


def added_up(stage: Computed, stored: Sequence[int], rank: int) -> Computed:
    """The sums of parts, those of each stored sum of this rank added up."""
    first, end = sum(count > 1 for count in stored), len(stage.shape) - rank
    whole, axes = stage.body, stage.axes[first:end]
    assert isinstance(whole, Reduce)
    carried = [Axis(CARRIED, axis.extent) for axis in axes]
    body = substitute(whole.body, dict(zip(axes, carried, strict=True)))
    return Computed(
        name=stage.name,
        shape=(*stage.shape[:first], *stage.shape[end:]),
        dtype=stage.dtype,
        axes=(*stage.axes[:first], *stage.axes[end:]),
        body=replace(whole, axes=(*carried, *whole.axes), body=body),
    )


def carried_parts(nest: Nest, _: Parameters) -> Nest:
    """The nest with the parts of its sum around its tiles, if it has some."""
    return carrying(nest, [axis for axis in nest.reduction if axis.name.startswith(CARRIED)])


def grouped_parts(
    nests: Sequence[Step], outputs: Sequence[Tensor], _: Parameters
) -> Sequence[Step | RowBlocks]:
    """The nests of a part together."""
    return grouped_steps(nests, outputs, 1, most_row_bytes=MAXIMUM_LOCAL_BYTES)
