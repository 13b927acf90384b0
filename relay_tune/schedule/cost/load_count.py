"""How many registers a tile has, and how many load instructions fill their operands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod
from types import MappingProxyType

from relay_tune.machine.machine import LINE_BYTES
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice, unrolled_extents
from relay_tune.schedule.cost.access import Access
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.tile_extents import (
    distinct_places,
    neighbours,
    tiled_axes,
    vector_axis,
    vector_count,
)
from relay_tune.schedule.cost.window_values import Carried, carried_values
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.lane_rows import MOST_SKIPPED, move_instructions

REMEMBERED = 1 << 14
"""Counts that are kept: the tiles of a search differ in axes that an access does not depend on."""

NOTHING_UNROLLED: Mapping[Axis, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class BodyLoads:
    """Load instructions of a tile's reduction body.

    Attributes:
        counts: of each access in one step.
        held: registers that each access fills in one step.
        strided: whether vectors are put together from every second element or so of others.
        together: steps that are written out.
        shared: loads of all of these, where equal elements are loaded once.
        values: registers that hold what these load.
        live: registers that hold what the steps load between two uses of an element.
        slides: whether the steps load less together than each by itself, as a sliding window does.
        row: vectors that the steps along the innermost axis of a window load.
        row_steps: the steps of such a row.
        carried: where nothing but the window uses an element again, and in groups: for each axis of
            the window that is written out, the values that one of its steps leaves for later ones,
            and how often it does so. Empty for other nests.
        shuffled: vectors that all of these steps shuffle.
        sources: vectors that stay in registers because several steps pick elements out of them.
    """

    counts: tuple[float, ...]
    held: tuple[float, ...]
    strided: bool
    together: int
    shared: float
    values: float = 0.0
    live: float = 0.0
    slides: bool = False
    row: float = 0.0
    row_steps: int = 1
    carried: tuple[Carried, ...] = ()
    shuffled: float = 0.0
    sources: float = 0.0


def load_count(
    accesses: tuple[Access, ...],
    nest: Nest,
    choice: TileChoice,
    extents: dict[Axis, int],
    unrolled: Mapping[Axis, int] = NOTHING_UNROLLED,
    *,
    values: bool = False,
) -> float:
    """Load instructions for one pass of a tile's body; scattered lanes count as they are moved,
    and vectors that lie in two cache lines twice.

    With `values`, the registers that hold what is loaded.

    With `unrolled` reduction steps the pass covers all of them, and points that read the same
    element (neighbours under a sliding window) share a load.
    """
    total = 0.0
    for access in accesses:
        loaded, held = _counts(access, nest, choice, extents, unrolled)
        total += held if values else loaded
    return total


def _counts(
    access: Access,
    nest: Nest,
    choice: TileChoice,
    extents: dict[Axis, int],
    unrolled: Mapping[Axis, int] = NOTHING_UNROLLED,
) -> tuple[float, float]:
    """Load instructions of one access, and the registers that hold what it loads."""
    if access.form is None:
        scattered = vector_count(nest, choice, extents) * choice.lanes
        return scattered, scattered
    terms = access.form.terms
    own = tuple([each for each in extents.items() if each[0] in terms])
    steps = tuple([each for each in unrolled.items() if each[0] in terms])
    return _affine_counts(access, nest, vector_axis(nest, choice), choice.lanes, own, steps)


@remembered(REMEMBERED)
def _affine_counts(
    access: Access,
    nest: Nest,
    vector: Axis | None,
    lanes: int,
    own: tuple[tuple[Axis, int], ...],
    steps: tuple[tuple[Axis, int], ...],
) -> tuple[float, float]:
    """The counts of an affine access by what it depends on: `own` axes of the tile, and `steps`."""
    assert access.form is not None
    extents, unrolled = dict(own), dict(steps)
    held = distinct_places(access.form, extents, unrolled, vector, lanes)
    form = access.whole_vectors(nest.reduction)
    loaded = held
    if form is not access.form:
        loaded = distinct_places(form, extents, unrolled, vector, lanes)
    if vector is None:
        return loaded, held
    if not _is_streamed(access, vector, nest):
        return loaded * _moves(access.form, vector, lanes, extents), held
    begins = access.whole_vectors(nest.reduction, unrolled)
    return loaded * (1 + _split_share(begins, access, vector, lanes, nest)), held


@remembered(REMEMBERED)
def body_loads(analysis: NestAnalysis, choice: TileChoice, shared_loads: float) -> BodyLoads:
    """The loads of a tile's reduction body; of the choice only what is `innermost` matters.

    Written-out steps with fewer than `shared_loads` of the loads of single ones slide.
    """
    nest, accesses = analysis.nest, analysis.body_accesses
    extents = dict(tiled_axes(nest, choice))
    each = {access: _counts(access, nest, choice, extents) for access in accesses}
    counts = tuple(each[access][0] for access in accesses)
    held = tuple(each[access][1] for access in accesses)
    vector = vector_axis(nest, choice)
    strided = any(_is_strided(access, vector, nest) for access in accesses)
    shuffled = tuple(access for access in accesses if access.repeats)
    if choice.vector == -2 or choice.unroll == 1:
        moved = _added(each[access][1] for access in shuffled)
        return BodyLoads(counts, held, strided, 1, sum(counts), shuffled=moved)
    reduction = [nest.reduction[place] for place in choice.reduction_order]
    unrolled = unrolled_extents(reduction, choice.unroll)
    together = prod(unrolled.values())
    all_steps = {access: _counts(access, nest, choice, extents, unrolled) for access in accesses}
    moved = _added(all_steps[access][1] for access in shuffled)
    sources = sum(_sources(access, nest, choice, extents, unrolled) for access in shuffled)
    shared = _added(all_steps[access][0] for access in accesses)
    values = _added(all_steps[access][1] for access in accesses)
    vectors = tuple(a for a in accesses if a.form is None or vector in a.form.terms)
    waiting = vectors if strided else accesses
    once = _added(each[access][1] for access in waiting)
    if _added(all_steps[access][1] for access in waiting) >= shared_loads * together * once:
        return BodyLoads(
            counts, held, strided, together, shared, values, values, shuffled=moved, sources=sources
        )
    windows = _window_places(accesses, reduction, unrolled, extents)
    between, in_row = (_inner_steps(reduction, unrolled, place) for place in windows)
    live = load_count(waiting, nest, choice, extents, between, values=True)
    row = load_count(vectors, nest, choice, extents, in_row, values=True)
    carried: tuple[Carried, ...] = ()
    if analysis.beside_windows or analysis.independent:
        points = {a: -(-n // choice.lanes) if a is vector else n for a, n in extents.items()}
        sharing = accesses if analysis.independent else vectors
        forms = [access.form for access in sharing if access.form is not None]
        carried = carried_values(forms, points, unrolled)
    steps = prod(in_row.values())
    return BodyLoads(
        counts,
        held,
        strided,
        together,
        shared,
        values,
        live,
        True,
        row,
        steps,
        carried,
        moved,
        sources,
    )


def _added(counts: Iterable[float]) -> float:
    """The sum, in order."""
    total = 0.0
    for count in counts:
        total += count
    return total


def _sources(
    access: Access,
    nest: Nest,
    choice: TileChoice,
    extents: Mapping[Axis, int],
    unrolled: Mapping[Axis, int],
) -> float:
    """The vectors that stay while written-out steps pick one element after another."""
    inside = access.steps_within(unrolled)
    if access.form is None or inside is None:
        return 0.0
    form = access.whole_vectors(nest.reduction)
    return distinct_places(form, extents, inside, vector_axis(nest, choice), choice.lanes)


def _window_places(
    accesses: Sequence[Access],
    reduction: Sequence[Axis],
    unrolled: Mapping[Axis, int],
    extents: Mapping[Axis, int],
) -> tuple[int, int]:
    """The outermost and the innermost place of an axis along which written-out steps share loads.

    What they share waits for the steps of all axes further in.
    """
    sliding = [
        place
        for place, axis in enumerate(reduction)
        if unrolled[axis] > 1 and any(_shares(a, axis, unrolled, extents) for a in accesses)
    ]
    return (min(sliding), max(sliding)) if sliding else (0, 0)


def _shares(
    access: Access, step: Axis, unrolled: Mapping[Axis, int], extents: Mapping[Axis, int]
) -> bool:
    """Whether points of a tile read in one step what their neighbours read in another."""
    if access.form is None or not access.form.coefficient(step):
        return False
    for axis, extent in extents.items():
        stride, rest = divmod(access.form.coefficient(axis), access.form.coefficient(step))
        if extent > 1 and not rest and 0 < stride < unrolled[step]:
            return True
    return False


def _inner_steps(
    reduction: Sequence[Axis], unrolled: Mapping[Axis, int], place: int
) -> dict[Axis, int]:
    """The written-out steps of the axes from a place on; one of those further out."""
    return {axis: unrolled[axis] if n >= place else 1 for n, axis in enumerate(reduction)}


def _is_strided(access: Access, vector: Axis | None, nest: Nest) -> bool:
    """Whether the lanes of this access are picked out of a few whole vectors."""
    if access.form is None or vector is None or _is_streamed(access, vector, nest):
        return False
    return 1 < access.form.coefficient(vector) <= MOST_SKIPPED


def _is_streamed(access: Access, vector: Axis, nest: Nest) -> bool:
    """Whether a vector of this access is one load (contiguous, the same, or packed)."""
    assert access.form is not None
    factor = access.form.terms.get(vector, 0)
    return factor in (0, 1) or (access.constant and bool(nest.reduction))


def _split_share(form: Affine, access: Access, vector: Axis, lanes: int, nest: Nest) -> float:
    """The share of an access's vectors in two cache lines; packed weights begin with a line."""
    if access.constant and nest.reduction:
        return 0.0
    return split_share(form, access.bytes, vector, lanes)


def _moves(form: Affine, vector: Axis, lanes: int, extents: Mapping[Axis, int]) -> float:
    """What loading a vector of an access costs, in loads.

    Rows along a reduction are not counted: its own lanes are better there.
    """
    return move_instructions(form.coefficient(vector), neighbours(form, vector, extents), lanes)


def split_share(form: Affine, size: int, vector: Axis, lanes: int) -> float:
    """Which share of the vectors that an access loads lie in two lines.

    `form` is that of the flat index, `size` the bytes of an element. The tensor begins with a line,
    and the vectors of a row follow each other, so all depends on the steps of the other axes: those
    of 72 bytes lead to one line's start in eight steps. Intel, "64 and IA-32 Architectures
    Optimization Reference Manual", section on memory accesses that cross cache lines.
    """
    if form.coefficient(vector) != 1:
        return 0.0
    length = lanes * size
    steps = [factor * size for axis, factor in form.terms.items() if axis is not vector]
    step = gcd(LINE_BYTES, length, *steps)
    starts = range(form.constant * size % step, LINE_BYTES, step)
    return sum(start + length > LINE_BYTES for start in starts) / len(starts)
