"""The loop nests that a program needs, before any choice of how they run.

Accesses become flat, divisions of indices are gone where an axis could be split, and neighbouring
axes that all accesses treat as one are fused:

    out[n, h, w, o] = relu(sum(c) x[n, h, w, c] * weight[o, c] + bias[o])
    axes (p = n*h*w, o), reduction (c): relu(result + bias[o]), stored at p*O + o

A stage whose value depends on the region (padding, concatenation) becomes one nest for each region.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.schedule.nests.epilogues import Joining, epilogues
from relay_tune.schedule.nests.index_divisions import split_divisions
from relay_tune.schedule.nests.inline import Stage
from relay_tune.schedule.nests.nest import Nest, fuse_axes, with_roots
from relay_tune.schedule.nests.open_periods import with_whole_periods
from relay_tune.schedule.nests.operation_count import places_share, selects_by_short_rows
from relay_tune.schedule.nests.regions import Region, regions_of, whole_periods
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Load, Reduce, Scalar, Tensor, index_value
from relay_tune.tensor.index import FlatTensors, flat_place, simplify
from relay_tune.tensor.rounded_numbers import with_rounded_numbers
from relay_tune.tensor.size import nominal
from relay_tune.tensor.tensor import ProcedureOutput
from relay_tune.tensor.walk import loads, replace_nodes, substitute


def build_nests(
    stages: Sequence[Stage | ProcedureOutput],
    outputs: Sequence[Tensor],
    *,
    longer: bool = False,
) -> list[Nest | ProcedureOutput]:
    """The nests of a program's stages, producers first.

    With `longer`, axes of fixed extent are not cut where their whole periods end either.
    """
    flat = FlatTensors()
    taken = epilogues(stages, outputs)
    fused = {reduction.tensor for each in taken.values() for reduction in each.reductions}
    nests: list[Nest | ProcedureOutput] = []
    for stage in stages:
        if isinstance(stage, ProcedureOutput):
            nests.append(stage)
        elif stage.tensor not in fused and all(stage.tensor.shape):
            nests += _stage_nests(stage, taken.get(stage.tensor), flat, longer)
    return nests


def _stage_nests(
    stage: Stage, joining: Joining | None, flat: FlatTensors, longer: bool
) -> list[Nest]:
    if isinstance(stage.body, Reduce):
        accumulator = _accumulator(stage.body.dtype)
        own = Stage(stage.tensor, stage.axes, accumulator[()])
        return [_nest(own, own.axes, own.axes, own.body, stage.body, accumulator, flat)]
    if joining is None:
        written = stage.axes, stage.body
        if selects_by_short_rows(*written) or places_share(*written):
            return [_elementwise_nest(stage, Region(stage.axes, stage.axes, stage.body), flat)]
        joining = Joining(regions_of(stage.axes, stage.body), ())
    by_tensor = {reduction.tensor: reduction for reduction in joining.reductions}
    nests = []
    for region in joining.regions:
        taken = next((load for load in loads(region.body) if load.tensor in by_tensor), None)
        if taken is None:
            for part in whole_periods(region, longer=longer):
                whole = with_whole_periods(part, longer=longer)
                nests.append(_elementwise_nest(stage, whole, flat))
        else:
            nests.append(_reduction_nest(stage, region, taken, by_tensor[taken.tensor], flat))
    return nests


def _reduction_nest(
    stage: Stage, region: Region, taken: Load, reduction: Stage, flat: FlatTensors
) -> Nest:
    """The nest of a region that takes in the reduction which `taken` reads."""
    assert isinstance(reduction.body, Reduce)
    accumulator = _accumulator(reduction.body.dtype)
    mapping = dict(zip(reduction.axes, taken.indices, strict=True))
    reduced = substitute(reduction.body, mapping)
    result = replace_nodes(region.body, {taken: accumulator[()]})
    assert isinstance(reduced, Reduce)
    return _nest(stage, region.axes, region.places, result, reduced, accumulator, flat)


def _elementwise_nest(stage: Stage, region: Region, flat: FlatTensors) -> Nest:
    nothing = _accumulator(stage.body.dtype)
    axes, indices = region.axes, region.places
    return _nest(stage, axes, indices, region.body, None, nothing, flat, region.inside)


def _accumulator(dtype: str) -> Tensor:
    return Tensor(name="accumulator", shape=(), dtype=dtype)


def _nest(
    stage: Stage,
    axes: Sequence[Axis],
    indices: Sequence[Scalar],
    result: Scalar,
    reduced: Reduce | None,
    accumulator: Tensor,
    flat: FlatTensors,
    inside: Scalar | None = None,
) -> Nest:
    index = flat_place(stage.tensor.shape, indices)
    body = None
    if reduced is not None:
        body = flat.flatten(with_rounded_numbers(simplify(reduced.body)))
    result = flat.flatten(with_rounded_numbers(simplify(result)), accumulator)
    nest = Nest(
        name=stage.tensor.name,
        axes=tuple(axes),
        reduction=() if reduced is None else reduced.axes,
        operation=None if reduced is None else reduced.operation,
        body=body,
        accumulator=accumulator,
        result=result,
        target=flat.view(stage.tensor),
        index=index,
        inside=inside,
    )
    return fuse_axes(_order_reduction(_remove_divisions(_drop_unit_axes(nest))))


def _drop_unit_axes(nest: Nest) -> Nest:
    units = {a: index_value(0) for a in (*nest.axes, *nest.reduction) if a.extent == 1}
    if not units:
        return nest
    return with_roots(
        nest,
        [simplify(root, units) for root in nest.roots],
        axes=tuple(axis for axis in nest.axes if axis not in units),
        reduction=tuple(axis for axis in nest.reduction if axis not in units),
    )


def _remove_divisions(nest: Nest) -> Nest:
    parts, roots = split_divisions((*nest.axes, *nest.reduction), nest.roots)
    return with_roots(
        nest,
        roots,
        axes=tuple(part for axis in nest.axes for part in parts[axis]),
        reduction=tuple(part for axis in nest.reduction for part in parts[axis]),
    )


def _order_reduction(nest: Nest) -> Nest:
    """Reduction axes in the order in which the largest operand lies in memory.

    Channels-last convolution data is read tap row by tap row, channels innermost; a tap column and
    the channels then fuse into one axis.
    """
    if nest.body is None or len(nest.reduction) < 2:
        return nest
    forms = [axis_affine(load.indices[0]) for load in loads(nest.body)]
    known = [form for form in forms if form is not None]
    if not known:
        return nest
    strides = {axis: nominal(known[0].coefficient(axis)) for axis in nest.reduction}
    ordered = sorted(nest.reduction, key=lambda axis: -abs(strides[axis]))
    return replace(nest, reduction=tuple(ordered))
