"""The loop nests that a program needs, before any choice of how they run.

A nest computes one stored tensor: a reduction with all that is done to its result (the epilogue),
or elements that need no reduction. Accesses are flat, divisions of indices are gone where an axis
could be split, and neighbouring axes that all accesses treat as one are fused:

    out[n, h, w, o] = relu(sum(c) x[n, h, w, c] * weight[o, c] + bias[o])
    axes (p = n*h*w, o), reduction (c): relu(result + bias[o]), stored at p*O + o

A stage whose value depends on the region (padding, concatenation) becomes one nest for each region.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from relay_tune.schedule.inline import Stage
from relay_tune.schedule.regions import Region, regions_of, whole_periods
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import (
    Axis,
    Load,
    Reduce,
    Scalar,
    Tensor,
    index_value,
)
from relay_tune.tensor.index import (
    FlatTensors,
    axis_range,
    can_fuse,
    divided_axis,
    flat_index,
    is_injective,
    simplify,
)
from relay_tune.tensor.size import nominal, surely_less
from relay_tune.tensor.tensor import ProcedureOutput
from relay_tune.tensor.walk import (
    loads,
    replace_nodes,
    substitute,
    transform_loads,
)


@dataclass(frozen=True, eq=False, slots=True)
class Nest:
    """One loop nest.

    Attributes:
        name: of the tensor that it computes.
        axes: the output axes, outermost first as stored by default.
        reduction: the axes that are reduced over; empty for elementwise nests.
        operation: how they are reduced, or None.
        body: what is reduced (None without reduction).
        accumulator: a rank-0 tensor whose load in `result` stands for the reduced value.
        result: the value to store.
        target: the flat view of the stored tensor.
        index: where in it the value goes.
        has_matrix_registers: whether its algorithm runs sums on matrix registers.
    """

    name: str
    axes: tuple[Axis, ...]
    reduction: tuple[Axis, ...]
    operation: str | None
    body: Scalar | None
    accumulator: Tensor
    result: Scalar
    target: Tensor
    index: Scalar
    has_matrix_registers: bool = False

    @property
    def roots(self) -> tuple[Scalar, ...]:
        """All expressions of the nest."""
        body = () if self.body is None else (self.body,)
        return (*body, self.result, self.index)

    @property
    def points(self) -> int:
        """How often the body is evaluated."""
        return prod(axis.extent for axis in (*self.axes, *self.reduction))


def build_nests(
    stages: Sequence[Stage | ProcedureOutput], outputs: Sequence[Tensor]
) -> list[Nest | ProcedureOutput]:
    """The nests of a program's stages, producers first."""
    flat = FlatTensors()
    epilogues = _epilogues(stages, outputs)
    fused = {reduction.tensor for found in epilogues.values() for reduction in found}
    nests: list[Nest | ProcedureOutput] = []
    for stage in stages:
        if isinstance(stage, ProcedureOutput):
            nests.append(stage)
        elif stage.tensor not in fused and all(stage.tensor.shape):
            nests += _stage_nests(stage, epilogues.get(stage.tensor, []), flat)
    return nests


def _epilogues(
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
    parts, roots = _split_divisions(
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


def _stage_nests(stage: Stage, reductions: Sequence[Stage], flat: FlatTensors) -> list[Nest]:
    if isinstance(stage.body, Reduce):
        accumulator = _accumulator(stage.body.dtype)
        own = Stage(stage.tensor, stage.axes, accumulator[()])
        return [_nest(own, own.axes, own.axes, own.body, stage.body, accumulator, flat)]
    by_tensor = {reduction.tensor: reduction for reduction in reductions}
    nests = []
    for region in regions_of(stage.axes, stage.body):
        taken = next((load for load in loads(region.body) if load.tensor in by_tensor), None)
        if taken is None:
            nests += [_elementwise_nest(stage, part, flat) for part in whole_periods(region)]
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
    return _nest(stage, region.axes, region.places, region.body, None, nothing, flat)


def _accumulator(dtype: str) -> Tensor:
    return Tensor(name="accumulator", shape=(), dtype=dtype)


def _nest(
    stage: Stage,
    axes: Sequence[Axis],
    places: Sequence[Scalar],
    result: Scalar,
    reduced: Reduce | None,
    accumulator: Tensor,
    flat: FlatTensors,
) -> Nest:
    index = simplify(flat_index(stage.tensor.shape, places))
    body = None if reduced is None else flat.flatten(simplify(reduced.body))
    result = _flatten_except(simplify(result), accumulator, flat)
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
    )
    return fuse_axes(_order_reduction(_remove_divisions(_drop_unit_axes(nest))))


def _flatten_except(root: Scalar, accumulator: Tensor, flat: FlatTensors) -> Scalar:
    """Flatten all loads but those of the accumulator."""
    flattened = {load: flat.flatten(load) for load in loads(root) if load.tensor is not accumulator}
    return transform_loads(root, lambda load: flattened.get(load, load))


def with_roots(
    nest: Nest, roots: Sequence[Scalar], axes: Sequence[Axis], reduction: Sequence[Axis]
) -> Nest:
    """The nest with other expressions, in the order of `Nest.roots`, and axes."""
    *body, result, index = roots
    return replace(
        nest,
        body=body[0] if body else None,
        result=result,
        index=index,
        axes=tuple(axes),
        reduction=tuple(reduction),
    )


def _drop_unit_axes(nest: Nest) -> Nest:
    units = {a: index_value(0) for a in (*nest.axes, *nest.reduction) if a.extent == 1}
    if not units:
        return nest
    return with_roots(
        nest,
        [simplify(substitute(root, units)) for root in nest.roots],
        axes=tuple(axis for axis in nest.axes if axis not in units),
        reduction=tuple(axis for axis in nest.reduction if axis not in units),
    )


def _split_divisions(
    axes: Sequence[Axis], roots: Sequence[Scalar]
) -> tuple[dict[Axis, tuple[Axis, ...]], list[Scalar]]:
    """Split axes until no division of an index is left that splitting can remove.

    Gives what each axis became, outermost part first, and the new expressions.
    """
    parts: dict[Axis, tuple[Axis, ...]] = {axis: (axis,) for axis in axes}
    roots = list(roots)
    for _ in range(32):
        found = next((f for root in roots if (f := divided_axis(root)) is not None), None)
        if found is None:
            break
        axis, inner_extent = found
        outer = Axis(f"{axis.name}o", axis.extent // inner_extent)
        inner = Axis(f"{axis.name}i", inner_extent)
        parts = {
            original: tuple(
                part for old in now for part in ((outer, inner) if old is axis else (old,))
            )
            for original, now in parts.items()
        }
        split = {axis: outer * inner_extent + inner}
        roots = [simplify(substitute(root, split)) for root in roots]
    return parts, roots


def _remove_divisions(nest: Nest) -> Nest:
    parts, roots = _split_divisions((*nest.axes, *nest.reduction), nest.roots)
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


def fuse_axes(nest: Nest) -> Nest:
    """Fuse neighbours as long as any two always occur as one index."""
    axes, roots = _fuse(list(nest.axes), list(nest.roots))
    reduction, roots = _fuse(list(nest.reduction), roots)
    return with_roots(nest, roots, axes, reduction)


def _fuse(axes: list[Axis], roots: list[Scalar]) -> tuple[list[Axis], list[Scalar]]:
    place = 0
    while place + 1 < len(axes):
        outer, inner = axes[place], axes[place + 1]
        if not can_fuse(outer, inner, roots):
            place += 1
            continue
        fused = Axis(f"{outer.name}{inner.name}"[:12], outer.extent * inner.extent)
        mapping: dict[Axis, Scalar] = {outer: index_value(0), inner: fused}
        roots = [simplify(substitute(root, mapping)) for root in roots]
        axes[place : place + 2] = [fused]
        place = max(place - 1, 0)
    return axes, roots
