"""The adjoint of a tensor from one load of it, as a gather where indices are affine.

An element of the tensor collects the adjoints of all points that read it. Points that its
indices determine are read directly, others are summed over first:

    y[i, j] = sum over k of a[i, k] * b[k, j]
    adjoint of a at (i, k): sum over j of d[i, j] * b[k, j]

Sums of few points, as those of a pool's windows that move by two, are written out where they are
read: no phase of the adjoint is stored and read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce as fold
from itertools import product
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import constant, variable
from relay_tune.tensor.derivative.inverse import (
    Digits,
    Inverse,
    Reading,
    Windows,
    digit_values,
    inverted,
    phase_places,
    window_place,
    without_divisions,
)
from relay_tune.tensor.derivative.padded import Windowed, made_safe, masked
from relay_tune.tensor.derivative.scalar_adjoints import Guarded, summed
from relay_tune.tensor.derivative.scatter import scattered
from relay_tune.tensor.expression import Axis, Load, Scalar, Tensor, binary, literal, reduce, select
from relay_tune.tensor.index import expression_of, simplify
from relay_tune.tensor.size import ceiling_quotient
from relay_tune.tensor.tensor import Computed, compute

MOST_SUMS = 64
"""So many sums are written at most, one for each phase of windows; else the sums are scattered."""

MOST_TERMS = 4
"""Sums of so many points are written out where each element reads that of its phase."""

Contribution = Callable[[Sequence[Scalar]], Scalar]
"""contribution(indices of an element) -> its share of the adjoint, without a reduction."""

_Part = Callable[[Sequence[Scalar]], Scalar]
"""part(indices) -> an element of a sum over some points."""

TapChoice = Mapping[Axis, tuple[int, int]]
Phase = tuple[int, TapChoice]


def contribution(axes: Sequence[Axis], load: Load, values: Guarded) -> Contribution:
    """Contribution of the points of `axes` to the tensor of a load, whose adjoint is given."""
    reading = without_divisions(Reading(tuple(axes), load.indices, summed(values)))
    inverse = inverted(load.tensor, reading)
    if inverse is None or _sums_of(inverse) > MOST_SUMS:
        total = scattered(f"{load.tensor.name}_sums", load.tensor.shape, axes, load.indices, values)
        return lambda indices: total[tuple(indices)]
    if not inverse.free and all(isinstance(each, Digits) for each in inverse.dimensions):
        return _direct(inverse, reading.value)
    return _gathered(load.tensor, inverse, reading.value)


def _sums_of(inverse: Inverse) -> int:
    counts = [d.period for d in inverse.dimensions if isinstance(d, Windows)]
    return fold(lambda left, right: left * right, counts, 1)


def _solved(
    inverse: Inverse, indices: Sequence[Scalar]
) -> tuple[dict[Axis, Scalar], list[list[Scalar]], list[Scalar]]:
    """For an element: the values of axes, those of each dimension, and what has to hold."""
    values: dict[Axis, Scalar] = {}
    conditions: list[Scalar] = []
    coordinates: list[list[Scalar]] = [[] for _ in indices]
    pairs = list(enumerate(zip(inverse.dimensions, indices, strict=True)))
    pairs.sort(key=lambda pair: len(_start_terms(pair[1][0])))
    for number, (dimension, position) in pairs:
        if isinstance(dimension, Digits):
            found, needed = digit_values(dimension, position, values)
            values |= found
            conditions += needed
            coordinates[number] = [found[axis] for axis, _ in dimension.axes]
    return values, coordinates, conditions


def _start_terms(dimension: Digits | Windows) -> Sequence[object]:
    return tuple(dimension.start.terms) if isinstance(dimension, Digits) else ()


def _where(conditions: Sequence[Scalar], value: Scalar) -> Scalar:
    zero = literal(0.0, value.dtype)
    for condition in reversed(conditions):
        value = select(condition, value, zero)
    return value


def _direct(inverse: Inverse, value: Scalar) -> Contribution:
    """Each element is read by one point at most."""

    def element(indices: Sequence[Scalar]) -> Scalar:
        values, _, conditions = _solved(inverse, indices)
        return _where(conditions, simplify(value, values))

    return element


@dataclass(frozen=True, slots=True)
class _Sum:
    """One sum over points: its axes as a tensor, and the axes that are summed over.

    Attributes:
        phases: that of each dimension of windows.
        axes: those of each dimension of the tensor that collects.
        reduced: the axes of the sum.
        windowed: what is summed.
    """

    phases: tuple[int, ...]
    axes: tuple[tuple[Axis, ...], ...]
    reduced: tuple[Axis, ...]
    windowed: Windowed

    @property
    def all_axes(self) -> tuple[Axis, ...]:
        """The axes of the tensor, of all dimensions."""
        return tuple(axis for dimension in self.axes for axis in dimension)


def _gathered(target: Tensor, inverse: Inverse, value: Scalar) -> Contribution:
    """Sums over points, by phases of windows, of which each element of the target reads its own."""
    sums = [_sum(target, inverse, value, phases) for phases in _phase_choices(inverse)]
    parts: dict[tuple[int, ...], list[_Part]] = {}
    are_short = len(sums) > 1 and all(_is_short(each) for each in sums)
    windowed = [each.windowed for each in sums]
    bodies = list(map(masked, windowed)) if are_short else made_safe(windowed)
    for each, body in zip(sums, bodies, strict=True):
        part = _written_out(each, body) if are_short else _stored(target, each, body)
        parts.setdefault(each.phases, []).append(part)

    def element(indices: Sequence[Scalar]) -> Scalar:
        _, coordinates, conditions = _solved(inverse, indices)
        joined = _joined(target, inverse, parts, indices, coordinates, value.dtype)
        return _where(conditions, joined)

    return element


def _stored(target: Tensor, each: _Sum, body: Scalar) -> _Part:
    """A sum as a tensor, which may be computed by a kernel of its own."""
    axes = each.all_axes
    tensor = Computed(
        name=f"{target.name}_sum",
        shape=tuple(axis.extent for axis in axes),
        dtype=body.dtype,
        axes=axes,
        body=reduce("sum", each.reduced, body),
    )
    return lambda indices: tensor[tuple(indices)]


def _is_short(each: _Sum) -> bool:
    """Whether a sum has so few points that its elements are computed where they are read."""
    extents = [axis.extent for axis in each.reduced]
    return all(isinstance(extent, int) for extent in extents) and prod(extents) <= MOST_TERMS


def _written_out(each: _Sum, body: Scalar) -> _Part:
    """A sum as its terms, one behind the other, in the order of the loops."""
    points = product(*(range(axis.extent) for axis in each.reduced))
    named = [
        {axis: expression_of(constant(tap)) for axis, tap in zip(each.reduced, point, strict=True)}
        for point in points
    ]

    def element(indices: Sequence[Scalar]) -> Scalar:
        known = dict(zip(each.all_axes, indices, strict=True))
        terms = [simplify(body, {**known, **taps}) for taps in named]
        return fold(lambda left, right: left + right, terms)

    return element


def _phase_choices(inverse: Inverse) -> Iterator[tuple[Phase, ...]]:
    """A phase and a choice of taps for each dimension of windows, in all combinations."""
    windows = [d for d in inverse.dimensions if isinstance(d, Windows)]
    options = [[(phase, taps) for phase, every in w.phases() for taps in every] for w in windows]
    return product(*options)


def _sum(target: Tensor, inverse: Inverse, value: Scalar, phases: Sequence[Phase]) -> _Sum:
    named: dict[Axis, Scalar] = {}
    positions: dict[Axis, Scalar] = {}
    dimensions: list[tuple[Axis, ...]] = []
    reduced = [_fresh(axis, named) for axis in inverse.free]
    choices = iter(phases)
    for number, dimension in enumerate(inverse.dimensions):
        if isinstance(dimension, Digits):
            own = tuple(_fresh(axis, named) for axis, _ in dimension.axes)
            dimensions.append(own or _unit(target.shape[number]))
            continue
        phase, taps = next(choices)
        extent = phase_places(target.shape[number], phase, dimension.period)
        position = Axis(f"q{number}", extent)
        dimensions.append((position,))
        inner = {}
        for axis, (residue, distance) in taps.items():
            count = ceiling_quotient(axis.extent - residue, distance)
            tap = Axis(axis.name, count)
            form = variable(tap)
            if count == 1:
                form = constant(0)
            else:
                reduced.append(tap)
            if dimension.runs_backwards(axis):
                form = form.scale(-1).shift(count - 1)
            inner[axis] = (residue, distance, form)
            named[axis] = expression_of(form.scale(distance).shift(residue))
        window = window_place(dimension, phase, variable(position), inner)
        positions[dimension.place] = named[dimension.place] = expression_of(window)
    windowed = Windowed(simplify(value, named), positions)
    return _Sum(tuple(phase for phase, _ in phases), tuple(dimensions), tuple(reduced), windowed)


def _unit(extent: int) -> tuple[Axis, ...]:
    """The axis of a dimension of one element, which is a dimension of the sum as well."""
    return (Axis("u", 1),) if extent == 1 else ()


def _fresh(axis: Axis, named: dict[Axis, Scalar]) -> Axis:
    new = Axis(axis.name, axis.extent)
    named[axis] = new
    return new


def _joined(
    target: Tensor,
    inverse: Inverse,
    parts: Mapping[tuple[int, ...], Sequence[_Part]],
    position: Sequence[Scalar],
    coordinates: Sequence[Sequence[Scalar]],
    dtype: str,
) -> Scalar:
    """The element of the sums of its phase; zero where its phase has none."""
    windows = [
        (number, dimension)
        for number, dimension in enumerate(inverse.dimensions)
        if isinstance(dimension, Windows)
    ]

    def indices() -> tuple[Scalar, ...]:
        found: list[Scalar] = []
        for number, dimension in enumerate(inverse.dimensions):
            if isinstance(dimension, Windows):
                found.append(binary("floordiv", position[number], dimension.period))
            elif coordinates[number]:
                found += coordinates[number]
            elif target.shape[number] == 1:
                found.append(position[number])
        return tuple(found)

    def chosen(phases: tuple[int, ...]) -> Scalar:
        if len(phases) == len(windows):
            own = parts.get(phases, ())
            found = [part(indices()) for part in own]
            return fold(lambda a, b: a + b, found) if found else literal(0.0, dtype)
        number, dimension = windows[len(phases)]
        value = chosen((*phases, dimension.period - 1))
        for phase in reversed(range(dimension.period - 1)):
            rest = binary("floormod", position[number], dimension.period)
            value = select(binary("eq", rest, phase), chosen((*phases, phase)), value)
        return value

    return chosen(())


def as_tensor(name: str, shape: Sequence[int], dtype: str, parts: Sequence[Contribution]) -> Tensor:
    """The tensor of the sums of contributions; one of them itself where nothing else is done."""

    def element(*indices: Scalar) -> Scalar:
        found = [part(indices) for part in parts]
        return fold(lambda a, b: a + b, found) if found else literal(0.0, dtype)

    tensor = compute(name, shape, element)
    body = tensor.body
    is_whole = isinstance(body, Load) and body.indices == tensor.axes
    if is_whole and isinstance(body, Load) and body.tensor.shape == tensor.shape:
        return body.tensor
    return tensor
