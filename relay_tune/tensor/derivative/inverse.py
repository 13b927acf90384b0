"""Inverting affine indices: which points read an element, as a function of its indices.

    index of the element         read by                      points
    t = 8 * i + j, j < 8         digits of a number           i = t // 8, j = t % 8
    t = 3                        a fixed index                all points, if t is 3
    t = i + k                    windows, one a step          i = t - k, for all k
    t = 2 * i + k                windows that step by two     i = (t - k) / 2, for k as even as t

Axes that no index has are free: an element is read at all of their values.

The windows of a step s are split by phases, t = s * q + phase, and their other axes into those
values that fit the phase, so that no value has to be left out of a sum.

Source: T.-M. Li et al., "Differentiable programming for image processing and deep learning in
Halide", SIGGRAPH 2018, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import INDEX, Axis, Scalar, Tensor, binary, literal
from relay_tune.tensor.index import (
    axis_range,
    decide,
    divided_axis,
    expression_of,
    is_injective,
    simplify,
)
from relay_tune.tensor.size import ceiling_quotient, is_multiple, is_symbolic, nominal, surely_less

MOST_SPLITS = 64
"""So many axes are split at most to carry out the divisions of an index."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Points that read a tensor.

    Attributes:
        axes: those of the points.
        places: the indices that are read.
        value: what is computed of the element.
    """

    axes: tuple[Axis, ...]
    places: tuple[Scalar, ...]
    value: Scalar


@dataclass(frozen=True, slots=True)
class Digits:
    """A dimension whose index determines its axes.

    Attributes:
        axes: the axes, with how often each step of theirs counts; positive, the longest step first.
        start: index - start is the number whose digits the axes are, but for reversed ones.
        reversed: the axes that run backwards.
    """

    axes: tuple[tuple[Axis, int], ...]
    start: Affine
    reversed: frozenset[Axis]


@dataclass(frozen=True, slots=True)
class Windows:
    """A dimension of windows: `index = step * place + sum(factor * tap) + start`.

    Attributes:
        place: the axis that is solved for.
        step: its factor, not zero.
        taps: the other axes and their factors.
        start: the constant.
    """

    place: Axis
    step: int
    taps: tuple[tuple[Axis, int], ...]
    start: int

    @property
    def period(self) -> int:
        """The number of phases."""
        return abs(self.step)

    def runs_backwards(self, tap: Axis) -> bool:
        """Whether a later tap reads an earlier window of an element."""
        return dict(self.taps)[tap] * self.step > 0

    def phases(self) -> Iterator[tuple[int, list[dict[Axis, tuple[int, int]]]]]:
        """(phase, the taps that are read in it); a tap is residue + period * a new axis.

        A choice of taps is {tap: (residue, period)}.
        """
        options = [_residues(axis, factor, self.period) for axis, factor in self.taps]
        for phase in range(self.period):
            chosen = []
            for residues in product(*options):
                known = zip(self.taps, residues, strict=True)
                total = sum(factor * residue for (_, factor), (residue, _) in known)
                if (phase - self.start - total) % self.period == 0:
                    named = zip(self.taps, residues, strict=True)
                    chosen.append({axis: residue for (axis, _), residue in named})
            yield phase, chosen


def _residues(axis: Axis, factor: int, period: int) -> list[tuple[int, int]]:
    """(first value, distance) of the sets of values of an axis that `period` sees as equal."""
    distance = next(d for d in range(1, period + 1) if factor * d % period == 0)
    sizes = range(distance)
    return [(n, distance) for n in sizes if is_symbolic(axis.extent) or n < axis.extent]


@dataclass(frozen=True, slots=True)
class Inverse:
    """How the points that read an element follow from its indices.

    Attributes:
        dimensions: for each dimension its digits or windows.
        free: the axes that no index has.
    """

    dimensions: tuple[Digits | Windows, ...]
    free: tuple[Axis, ...]


def without_divisions(reading: Reading) -> Reading:
    """A reading whose axes are split so that divisions of indices are carried out.

    before:  t[i // 4, i % 4] for i < 8
    after:   t[i1, i0] for i1 < 2, i0 < 4
    """
    single: dict[Axis, Scalar] = {
        axis: literal(0, INDEX) for axis in reading.axes if axis.extent == 1
    }
    reading = _renamed(reading, single, [axis for axis in reading.axes if axis not in single])
    for _ in range(MOST_SPLITS):
        found = next(filter(None, map(divided_axis, reading.places)), None)
        if found is None or found[0] not in reading.axes:
            break
        axis, inner = found
        parts = (Axis(f"{axis.name}1", axis.extent // inner), Axis(f"{axis.name}0", inner))
        axes = [p for a in reading.axes for p in (parts if a is axis else (a,))]
        reading = _renamed(reading, {axis: parts[0] * inner + parts[1]}, axes)
    return reading


def _renamed(reading: Reading, named: Mapping[Axis, Scalar], axes: Sequence[Axis]) -> Reading:
    positions = tuple(simplify(position, named) for position in reading.places)
    return Reading(tuple(axes), positions, simplify(reading.value, named))


def inverted(target: Tensor, reading: Reading) -> Inverse | None:
    """The inverse of a reading of `target`; None where an index is not affine or ambiguous."""
    forms = [axis_affine(position) for position in reading.places]
    solved: set[Axis] = set()
    taken: set[Axis] = set()
    found: dict[int, Digits | Windows] = {}
    affine = [form for form in forms if form is not None]
    if len(affine) != len(forms):
        return None
    for number in sorted(range(len(forms)), key=lambda n: len(affine[n].terms)):
        dimension = _dimension(affine[number], solved, reading.axes)
        if dimension is None:
            return None
        axes = _axes_of(affine[number])
        if axes & taken or (isinstance(dimension, Windows) and axes & solved):
            return None
        (taken if isinstance(dimension, Windows) else solved).update(axes)
        found[number] = dimension
    free = tuple(axis for axis in reading.axes if axis not in solved | taken)
    return Inverse(tuple(found[n] for n in range(len(forms))), free)


def _axes_of(form: Affine) -> set[Axis]:
    return {axis for axis in form.terms if isinstance(axis, Axis)}


def _dimension(form: Affine, solved: set[Axis], order: Sequence[Axis]) -> Digits | Windows | None:
    """How one index is inverted where some axes are known from others."""
    new = [axis for axis in order if form.coefficient(axis) and axis not in solved]
    known = form
    for axis in new:
        known = known.without(axis)
    if is_injective(form, new):
        return _digits(form, new, known)
    if known.terms or is_symbolic(known.constant):
        return None
    position = max(new, key=lambda axis: nominal(axis.extent))  # the first of the longest
    step = form.coefficient(position)
    taps = tuple((axis, form.coefficient(axis)) for axis in new if axis is not position)
    if any(is_symbolic(factor) for factor in (step, *(factor for _, factor in taps))):
        return None
    return Windows(position, step, taps, known.constant)


def _digits(form: Affine, new: Sequence[Axis], known: Affine) -> Digits | None:
    backwards = [axis for axis in new if surely_less(form.coefficient(axis), 0)]
    start = known
    for axis in backwards:
        start = start.shift(form.coefficient(axis) * (axis.extent - 1))
    steps = [
        (axis, -form.coefficient(axis) if axis in backwards else form.coefficient(axis))
        for axis in new
    ]
    if any(not surely_less(0, step) for _, step in steps):
        return None
    steps.sort(key=lambda item: (nominal(item[1]), nominal(item[0].extent)), reverse=True)
    return Digits(tuple(steps), start, frozenset(backwards))


def digit_values(
    digits: Digits, place: Scalar, known: Mapping[Axis, Scalar]
) -> tuple[dict[Axis, Scalar], list[Scalar]]:
    """The values of the axes for an element at `place`, and what must hold for them to be points.

    `known` has the values of axes that other dimensions determine.
    """
    number = simplify(place - simplify(expression_of(digits.start), known))
    values: dict[Axis, Scalar] = {}
    conditions: list[Scalar] = []
    form = axis_affine(number)
    low, high = form.bounds(axis_range) if form is not None else (None, None)
    if not digits.axes:
        return values, _unless_sure([binary("eq", number, 0)])
    above: int | None = None  # the step of the digit before
    rest = number
    for axis, step in digits.axes:
        value = simplify(binary("floordiv", rest, step))
        values[axis] = value
        if above is None:
            is_low = low is not None and surely_less(-1, low)
            is_high = high is not None and surely_less(high, step * axis.extent)
            conditions += [] if is_low else [binary("ge", number, 0)]
            conditions += [] if is_high else [binary("lt", number, step * axis.extent)]
        elif not surely_less(above - 1, step * axis.extent):
            conditions.append(binary("lt", value, axis.extent))
        is_multiple_above = above is None or is_multiple(above, step)
        rest = binary("floormod", number if is_multiple_above else rest, step)
        above = step
    if above != 1:
        conditions.append(binary("eq", rest, 0))
    for axis in digits.reversed:
        values[axis] = axis.extent - 1 - values[axis]
    return values, _unless_sure(conditions)


def _unless_sure(conditions: Sequence[Scalar]) -> list[Scalar]:
    return [condition for condition in conditions if decide(condition) is not True]


def phase_places(extent: int, phase: int, period: int) -> int:
    """How many positions of an axis have a phase."""
    return ceiling_quotient(extent - phase, period)


def window_place(
    windows: Windows, phase: int, place: Affine, taps: Mapping[Axis, tuple[int, int, Affine]]
) -> Affine:
    """The window that reads index `period * place + phase` with taps (residue, distance, axis)."""
    sign = 1 if windows.step > 0 else -1
    total = phase - windows.start
    form = place.scale(sign)
    for axis, factor in windows.taps:
        residue, distance, inner = taps[axis]
        total -= factor * residue
        form = form + inner.scale(-factor * distance // windows.step)
    return form.shift(total // windows.step)
