"""Which reductions have elementwise stages as their epilogue.

before:  y[i, o] = sum(k) x[i, k] * w[k, o];    z[i, o] = relu(y[i, o] + bias[o])
after:   z[i, o] = relu(sum(k) x[i, k] * w[k, o] + bias[o])                     y is not stored
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.schedule.nests.index_divisions import split_divisions
from relay_tune.schedule.nests.inline import Stage
from relay_tune.schedule.nests.regions import Region, regions_of
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Load, Reduce, Scalar, Tensor
from relay_tune.tensor.index import axis_range, flat_index, is_injective, simplify
from relay_tune.tensor.size import surely_less
from relay_tune.tensor.tensor import ProcedureOutput
from relay_tune.tensor.walk import loads


def epilogues(
    stages: Sequence[Stage | ProcedureOutput], outputs: Sequence[Tensor]
) -> dict[Tensor, list[Stage]]:
    """For each elementwise stage that can take reductions into its loops: those reductions.

    A stage that joins several tensors takes in one reduction for each of its regions.
    """
    readers: dict[Tensor, list[tuple[Stage | None, Load | None]]] = {}
    for stage in stages:
        if isinstance(stage, ProcedureOutput):
            for source in stage.procedure.inputs:
                readers.setdefault(source, []).append((None, None))
        else:
            for load in loads(stage.body):
                readers.setdefault(load.tensor, []).append((stage, load))
    found: dict[Tensor, list[Stage]] = {}
    for stage in stages:
        if not isinstance(stage, Stage) or not isinstance(stage.body, Reduce):
            continue
        reading = readers.get(stage.tensor, [])
        if stage.tensor in outputs or len(reading) != 1:
            continue
        consumer, read = reading[0]
        if consumer is None or read is None or isinstance(consumer.body, Reduce):
            continue
        others = {other.tensor for other in found.get(consumer.tensor, [])}
        if _reads_each_once(consumer, read, others):
            found.setdefault(consumer.tensor, []).append(stage)
    return found


def _reads_each_once(consumer: Stage, load: Load, others: set[Tensor]) -> bool:
    """Whether no element is read twice; the region that a select guards counts.

    The region must read none of `others`, which it computes already.
    """
    reading = [r for r in regions_of(consumer.axes, consumer.body) if load.tensor in _tensors(r)]
    if len(reading) != 1 or not others.isdisjoint(_tensors(reading[0])):
        return False
    inner = next(item for item in loads(reading[0].body) if item.tensor is load.tensor)
    parts, roots = split_divisions(
        reading[0].axes, [simplify(flat_index(load.tensor.shape, inner.indices)), *inner.indices]
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
