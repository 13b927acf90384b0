"""The adjoint of a tensor from one place that reads it, as a gather where indices are affine.

An element of the tensor collects the adjoints of all points that read it. Points that its place
determines are read directly, others are summed over first:

    y[i, j] = sum over k of a[i, k] * b[k, j]
    adjoint of a at (i, k): sum over j of d[i, j] * b[k, j]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce as fold
from itertools import product

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
from relay_tune.tensor.derivative.padded import Windowed, made_safe
from relay_tune.tensor.derivative.scalar_adjoints import Guarded, summed
from relay_tune.tensor.derivative.scatter import scattered
from relay_tune.tensor.expression import Axis, Load, Scalar, Tensor, binary, literal, reduce, select
from relay_tune.tensor.index import expression_of, simplify
from relay_tune.tensor.size import ceiling_quotient
from relay_tune.tensor.tensor import Computed, compute

MOST_SUMS = 64
"""So many sums are written at most, one for each phase of windows; else the sums are scattered."""

Contribution = Callable[[Sequence[Scalar]], Scalar]
"""contribution(indices of an element) -> its share of the adjoint, without a reduction."""

TapChoice = Mapping[Axis, tuple[int, int]]
Phase = tuple[int, TapChoice]


def contribution(axes: Sequence[Axis], load: Load, values: Guarded) -> Contribution:
    """Contribution of the points of `axes` to the tensor of a load, whose adjoint is given."""
    reading = without_divisions(Reading(tuple(axes), load.indices, summed(values)))
    inverse = inverted(load.tensor, reading)
    if inverse is None or _sums_of(inverse) > MOST_SUMS:
        total = scattered(f"{load.tensor.name}_sums", load.tensor.shape, axes, load.indices, values)
        return lambda places: total[tuple(places)]
    if not inverse.free and all(isinstance(each, Digits) for each in inverse.dimensions):
        return _direct(inverse, reading.value)
    return _gathered(load.tensor, inverse, reading.value)


def _sums_of(inverse: Inverse) -> int:
    counts = [d.period for d in inverse.dimensions if isinstance(d, Windows)]
    return fold(lambda left, right: left * right, counts, 1)


def _solved(
    inverse: Inverse, places: Sequence[Scalar]
) -> tuple[dict[Axis, Scalar], list[list[Scalar]], list[Scalar]]:
    """For an element: the values of axes, those of each dimension, and what has to hold."""
    values: dict[Axis, Scalar] = {}
    conditions: list[Scalar] = []
    coordinates: list[list[Scalar]] = [[] for _ in places]
    pairs = list(enumerate(zip(inverse.dimensions, places, strict=True)))
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

    def element(places: Sequence[Scalar]) -> Scalar:
        values, _, conditions = _solved(inverse, places)
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


def _gathered(target: Tensor, inverse: Inverse, value: Scalar) -> Contribution:
    """Sums over points, by phases of windows, of which each element of the target reads its own."""
    sums = [_sum(target, inverse, value, phases) for phases in _phase_choices(inverse)]
    bodies = made_safe([each.windowed for each in sums])
    parts: dict[tuple[int, ...], list[Tensor]] = {}
    for each, body in zip(sums, bodies, strict=True):
        axes = tuple(axis for dimension in each.axes for axis in dimension)
        parts.setdefault(each.phases, []).append(
            Computed(
                name=f"{target.name}_sum",
                shape=tuple(axis.extent for axis in axes),
                dtype=body.dtype,
                axes=axes,
                body=reduce("sum", each.reduced, body),
            )
        )

    def element(places: Sequence[Scalar]) -> Scalar:
        _, coordinates, conditions = _solved(inverse, places)
        joined = _joined(target, inverse, parts, places, coordinates, value.dtype)
        return _where(conditions, joined)

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
    parts: Mapping[tuple[int, ...], Sequence[Tensor]],
    places: Sequence[Scalar],
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
                found.append(binary("floordiv", places[number], dimension.period))
            elif coordinates[number]:
                found += coordinates[number]
            elif target.shape[number] == 1:
                found.append(places[number])
        return tuple(found)

    def chosen(phases: tuple[int, ...]) -> Scalar:
        if len(phases) == len(windows):
            own = parts.get(phases, ())
            loads: list[Scalar] = [part[indices()] for part in own]
            return fold(lambda a, b: a + b, loads) if loads else literal(0.0, dtype)
        number, dimension = windows[len(phases)]
        value = chosen((*phases, dimension.period - 1))
        for phase in reversed(range(dimension.period - 1)):
            rest = binary("floormod", places[number], dimension.period)
            value = select(binary("eq", rest, phase), chosen((*phases, phase)), value)
        return value

    return chosen(())


def as_tensor(name: str, shape: Sequence[int], dtype: str, parts: Sequence[Contribution]) -> Tensor:
    """The tensor of the sums of contributions; one of them itself where nothing else is done."""

    def element(*places: Scalar) -> Scalar:
        found = [part(places) for part in parts]
        return fold(lambda a, b: a + b, found) if found else literal(0.0, dtype)

    tensor = compute(name, shape, element)
    body = tensor.body
    is_whole = isinstance(body, Load) and body.indices == tensor.axes
    if is_whole and isinstance(body, Load) and body.tensor.shape == tensor.shape:
        return body.tensor
    return tensor
