"""Which reductions have elementwise stages as their epilogue.

before:  y[i, o] = sum(k) x[i, k] * w[k, o];    z[i, o] = relu(y[i, o] + bias[o])
after:   z[i, o] = relu(sum(k) x[i, k] * w[k, o] + bias[o])                     y is not stored
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.index_divisions import split_divisions
from relay_tune.schedule.nests.inline import Stage
from relay_tune.schedule.nests.regions import Region, by_phases, regions_of
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Load, Reduce, Scalar, Tensor
from relay_tune.tensor.index import axis_range, flat_place, is_injective
from relay_tune.tensor.size import surely_less
from relay_tune.tensor.tensor import ProcedureOutput
from relay_tune.tensor.walk import loads


@dataclass(frozen=True, eq=False, slots=True)
class Joining:
    """An elementwise stage that takes reductions into its loops.

    Attributes:
        regions: of the stage, one nest each.
        reductions: that it takes in, each in a region of its own.
    """

    regions: Sequence[Region]
    reductions: Sequence[Stage]


def epilogues(
    stages: Sequence[Stage | ProcedureOutput], outputs: Sequence[Tensor]
) -> dict[Tensor, Joining]:
    """For each elementwise stage that can take reductions into its loops: how.

    A stage that joins several tensors takes in one reduction for each of its regions. One that
    joins them one by one is computed by positions if it can take them in then.
    """
    readers: dict[Tensor, list[tuple[Stage | None, Load | None]]] = {}
    for stage in stages:
        if isinstance(stage, ProcedureOutput):
            for source in stage.procedure.inputs:
                readers.setdefault(source, []).append((None, None))
        else:
            for load in loads(stage.body):
                readers.setdefault(load.tensor, []).append((stage, load))
    read_once: dict[Stage, list[tuple[Stage, Load]]] = {}
    for stage in stages:
        if not isinstance(stage, Stage) or not isinstance(stage.body, Reduce):
            continue
        reading = readers.get(stage.tensor, [])
        if stage.tensor in outputs or len(reading) != 1:
            continue
        consumer, read = reading[0]
        if consumer is not None and read is not None and not isinstance(consumer.body, Reduce):
            read_once.setdefault(consumer, []).append((stage, read))
    found = {consumer.tensor: _joining(consumer, read) for consumer, read in read_once.items()}
    return {tensor: joining for tensor, joining in found.items() if joining.reductions}


def _joining(consumer: Stage, read: Sequence[tuple[Stage, Load]]) -> Joining:
    """What a stage takes in of the reductions that it reads."""
    whole = regions_of(consumer.axes, consumer.body)
    taken = _taken(whole, read)
    if taken:
        return Joining(whole, taken)
    phases = [part for region in whole for part in by_phases(region)]
    return Joining(phases, _taken(phases, read) if len(phases) > len(whole) else [])


def _taken(regions: Sequence[Region], read: Sequence[tuple[Stage, Load]]) -> list[Stage]:
    taken: list[Stage] = []
    for stage, load in read:
        if _reads_each_once(regions, load, {other.tensor for other in taken}):
            taken.append(stage)
    return taken


def _reads_each_once(regions: Sequence[Region], load: Load, others: set[Tensor]) -> bool:
    """Whether no element is read twice; the region that a select guards counts.

    The region must read none of `others`, which it computes already.
    """
    reading = [region for region in regions if load.tensor in _tensors(region)]
    if len(reading) != 1 or not others.isdisjoint(_tensors(reading[0])):
        return False
    inner = next(item for item in loads(reading[0].body) if item.tensor is load.tensor)
    parts, roots = split_divisions(
        reading[0].axes, [flat_place(load.tensor.shape, inner.indices), *inner.indices]
    )
    form = axis_affine(roots[0])
    if form is None or not _all_inside(roots[1:], load.tensor.shape):
        return False
    return is_injective(form, [part for split in parts.values() for part in split])


def _all_inside(indices: Sequence[Scalar], shape: Sequence[int]) -> bool:
    """Whether indices are inside a shape wherever their axes are.

    They need not be under a select that no region removed; a reduction there must stay apart.
    """
    for index, extent in zip(indices, shape, strict=True):
        form = axis_affine(index)
        low, high = (-1, -1) if form is None else form.bounds(axis_range)
        if not surely_less(-1, low) or not surely_less(high, extent):
            return False
    return True


def _tensors(region: Region) -> set[Tensor]:
    return {load.tensor for load in loads(region.body)}
