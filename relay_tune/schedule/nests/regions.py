"""Regions: an element that is selected by where it lies, as one expression for each box.

    before:  y[i] = select(i >= 1 and i < 9, x[i - 1], 0)       i in 0 .. 9
    after:   y[i + 1] = x[i]   i in 0 .. 7;      y[0] = 0;      y[9] = 0

This is what lets a kernel write its result into a padded tensor, or next to others in a
concatenated one, without a test for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.index_divisions import split_divisions
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import (
    COMPARISONS,
    INDEX,
    Axis,
    Binary,
    Literal,
    Scalar,
    Select,
    binary,
)
from relay_tune.tensor.index import simplify
from relay_tune.tensor.size import UndecidedSizeError, is_integer, is_symbolic, surely_less
from relay_tune.tensor.walk import axes_of, loads, replace_nodes, sub_expressions

MAXIMUM_REGIONS = 256

Bounds = dict[Axis, tuple[int, int]]
"""For some axes, the half-open interval that they are confined to."""

BoxOf = Callable[[Scalar, Sequence[Axis]], Bounds | None]
"""Finds the box of some axes that a condition describes."""


@dataclass(frozen=True, eq=False, slots=True)
class Region:
    """A box of a tensor.

    Attributes:
        axes: new axes that run over the box from 0.
        places: the tensor's indices in terms of them.
        body: the element there.
        inside: which points of the axes are in the box; None if all are.
    """

    axes: tuple[Axis, ...]
    places: tuple[Scalar, ...]
    body: Scalar
    inside: Scalar | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Period:
    """What a select's condition takes modulo a number that does not divide the axis.

    Attributes:
        axis: the axis.
        first: its first position where a period begins.
        steps: the positions of a period.
    """

    axis: Axis
    first: int
    steps: int


def regions_of(axes: Sequence[Axis], body: Scalar) -> list[Region]:
    """The element as one expression for each region; a single region if nothing can be split."""
    return _regions(Region(tuple(axes), tuple(axes), body), _known_box)


def _regions(whole: Region, box_of: BoxOf) -> list[Region]:
    """A region with one expression for each box of it; itself if nothing can be split."""
    regions = [whole]
    finished: list[Region] = []
    while regions:
        region = regions.pop()
        parts = _split(region, box_of)
        if parts is None:
            finished.append(region)
        else:
            regions += reversed(parts)
        if len(regions) + len(finished) > MAXIMUM_REGIONS:
            return [whole]
    return finished


def by_phases(region: Region) -> list[Region]:
    """A region in parts, one for the positions of a period that its selects tell apart.

    before:  y[i] = select(i % 2 < 1, a[i // 2], b[i // 2])       i < 12
    after:   y[2 * i] = a[i]   i < 6;      y[2 * i + 1] = b[i]

    It stays whole where neighbours along the last axis would be told apart: each part would store
    elements that do not lie side by side.
    """
    selects = [node for node in sub_expressions(region.body) if isinstance(node, Select)]
    told = [node for each in selects for node in sub_expressions(each.condition)]
    if not any(map(_is_modulo, told)):
        return [region]
    parts, (body, *indices) = split_divisions(region.axes, (region.body, *region.places))
    if len(parts[region.axes[-1]]) > 1:
        return [region]
    axes = tuple(part for axis in region.axes for part in parts[axis])
    return _regions(Region(axes, tuple(indices), body), _known_box)


def _is_modulo(node: Scalar) -> bool:
    return isinstance(node, Binary) and node.operation == "floormod" and node.dtype == INDEX


def whole_periods(region: Region, *, longer: bool = False) -> list[Region]:
    """A region with its axes cut where whole periods of a select's condition end.

    A select by the position within a period (i % 4 < 2) stays; where the period divides the extent,
    the axis can be split and the positions written out. What is left of a period is split at its
    selects by larger parts of it (i // 2 < 1). Axes of open extent stay, but for lanes; with
    `longer`, those of fixed extent do so, too.
    """
    pending, finished = [region], list[Region]()
    while pending:
        part = pending.pop()
        cut = _cut(part, longer=longer)
        if cut is None:
            finished += _regions(part, _known_box_of_periods)
            continue
        axis, index = cut
        pending.append(_restricted(part, {}, {axis: (index, axis.extent)}))
        pending.append(_restricted(part, {}, {axis: (0, index)}))
        if len(pending) + len(finished) > MAXIMUM_REGIONS:
            return [region]
    return finished


def _cut(region: Region, *, longer: bool) -> tuple[Axis, int] | None:
    """An axis and a position where a whole number of some select's periods begins or ends.

    With `longer`, none where one ends, but for lanes.
    """
    for period in periods(region):
        axis, first, steps = period.axis, period.first, period.steps
        is_open = is_symbolic(axis.extent)
        if first and not is_open and first < axis.extent:
            return axis, first
        if first or (is_open or longer) and not are_lanes(region, axis):
            continue
        if is_open or axis.extent > steps:
            return axis, axis.extent - axis.extent % steps
    return None


def are_lanes(region: Region, axis: Axis) -> bool:
    """Whether results lie side by side along an axis, and what is loaded along no other one."""
    if axis is not region.axes[-1]:
        return False
    others = {load.indices[-1] for load in loads(region.body)} & {*region.axes[:-1]}
    return not others or any(axis in axes_of(load.indices[-1]) for load in loads(region.body))


def periods(region: Region, *, whole: bool = False) -> Iterator[Period]:
    """What selects of a region take modulo a number that may not divide the axis.

    With `whole`, only those that do, from the first position on.
    """
    for node in sub_expressions(region.body):
        if isinstance(node, Select):
            for period in _periods_of(node.condition, region.axes):
                rest = period.axis.extent % period.steps
                is_whole = not period.first and not is_symbolic(rest) and rest == 0
                if is_whole == whole:
                    yield period


def _periods_of(condition: Scalar, axes: Sequence[Axis]) -> Iterator[Period]:
    for node in sub_expressions(condition):
        if not isinstance(node, Binary) or not _is_modulo(node):
            continue
        form, period = axis_affine(node.left), axis_affine(node.right)
        if form is None or period is None or not period.is_constant or len(form.terms) != 1:
            continue
        axis, factor = next(iter(form.terms.items()))
        if not isinstance(axis, Axis) or axis not in axes:
            continue
        if is_symbolic(period.constant) or factor < 1 or period.constant % factor:
            continue
        steps, before = period.constant // factor, form.constant // factor
        if steps > 1:
            yield Period(axis, -before % steps, steps)


def _split(region: Region, box_of: BoxOf) -> list[Region] | None:
    """The parts of a region at its outermost select on a box, or None."""
    for node in reversed(sub_expressions(region.body)):
        if isinstance(node, Select):
            box = box_of(node.condition, region.axes)
            if box is not None:
                return list(_parts(region, node, box))
    return None


def _parts(region: Region, chosen: Select, box: Bounds) -> Iterator[Region]:
    """The box with one side of the select, and the boxes around it with the other."""
    remaining: Bounds = {axis: (0, axis.extent) for axis in region.axes}
    for axis, (low, high) in box.items():
        first, last = remaining[axis]
        for begin, end in ((first, low), (high, last)):
            if not surely_less(end - 1, begin):
                outside = {**remaining, axis: (begin, end)}
                yield _restricted(region, {chosen: chosen.if_false}, outside)
        remaining[axis] = (low, high)
    yield _restricted(region, {chosen: chosen.if_true}, remaining)


def _restricted(region: Region, decided: Mapping[Scalar, Scalar], bounds: Bounds) -> Region:
    """A region within bounds (of some axes), with selects replaced by one of their sides."""
    body = replace_nodes(region.body, decided)
    limits = {axis: bounds.get(axis, (0, axis.extent)) for axis in region.axes}
    axes = tuple(
        axis
        if limits[axis] == (0, axis.extent)
        else Axis(axis.name, limits[axis][1] - limits[axis][0])
        for axis in region.axes
    )
    mapping = {
        old: new + limits[old][0]
        for old, new in zip(region.axes, axes, strict=True)
        if old is not new
    }
    indices = tuple(simplify(index, mapping) for index in region.places)
    return Region(axes, indices, simplify(body, mapping))


def _known_box(condition: Scalar, axes: Sequence[Axis]) -> Bounds | None:
    """The box that a condition describes; None if there is none, or it depends on open sizes."""
    try:
        return _box(condition, axes)
    except UndecidedSizeError:
        return None


def _known_box_of_periods(condition: Scalar, axes: Sequence[Axis]) -> Bounds | None:
    """The box that a bound on whole parts of an axis describes: `a // k < c` is `a < c * k`.

    None where the parts divide the axis: it can be split into them.
    """
    match condition:
        case Binary(
            operation="lt" | "ge" as operation,
            left=Binary(operation="floordiv", left=divided, right=Literal(value=divisor)),
            right=Literal(value=limit),
        ) if (
            is_integer(divisor)
            and is_integer(limit)
            and divisor > 0
            and not (isinstance(divided, Axis) and divided.extent % divisor == 0)
        ):
            return _known_box(binary(operation, divided, limit * divisor), axes)
    return None


def _box(condition: Scalar, axes: Sequence[Axis]) -> Bounds | None:
    """The box that a condition describes: a conjunction of bounds on single axes; else None."""
    bounds: Bounds = {}
    stack = [condition]
    while stack:
        node = stack.pop()
        if not isinstance(node, Binary):
            return None
        if node.operation == "and" and node.dtype == "bool":
            stack += [node.left, node.right]
            continue
        found = _bound(node)
        if found is None or found[0] not in axes:
            return None
        axis, low, high = found
        before = bounds.get(axis, (0, axis.extent))
        bounds[axis] = (max(low, before[0]), min(high, before[1]))
    if any(low >= high for low, high in bounds.values()):
        return None
    return bounds


def _bound(node: Binary) -> tuple[Axis, int, int] | None:
    """`factor * axis + constant compared with 0` as the half-open interval of the axis."""
    if node.operation not in COMPARISONS or node.left.dtype != INDEX:
        return None
    left, right = axis_affine(node.left), axis_affine(node.right)
    if left is None or right is None:
        return None
    form = left + right.scale(-1)
    if len(form.terms) != 1 or node.operation == "ne":
        return None
    (axis, factor), offset = next(iter(form.terms.items())), form.constant
    if not isinstance(axis, Axis) or (node.operation == "eq" and factor not in (1, -1)):
        return None
    operation = node.operation
    if factor < 0:
        factor, offset = -factor, -offset
        operation = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(operation, operation)
    below, most = -(offset // factor), -offset // factor  # first with >= 0, last with <= 0
    low, high = {
        "lt": (0, below),
        "le": (0, most + 1),
        "gt": (most + 1, axis.extent),
        "ge": (below, axis.extent),
        "eq": (below, below + 1),
    }[operation]
    return axis, max(low, 0), min(high, axis.extent)
