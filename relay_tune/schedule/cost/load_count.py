"""How many registers a tile has, and how many load instructions fill their operands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import gcd, prod
from types import MappingProxyType

from relay_tune.machine.machine import LINE_BYTES
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.cost.access import Access
from relay_tune.schedule.cost.tile import Tile, distinct_places, neighbours
from relay_tune.schedule.cost.window_values import Carried, carried_values
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import DOT_PRODUCTS, Axis, Binary
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
        in_registers: whether what steps share cannot be loaded by the instructions that use it:
            words of dot products.
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
    in_registers: bool = False


def load_count(
    accesses: Sequence[Access],
    tile: Tile,
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
        loaded, held = _counts(access, tile, unrolled)
        total += held if values else loaded
    return total


def _counts(
    access: Access, tile: Tile, unrolled: Mapping[Axis, int] = NOTHING_UNROLLED
) -> tuple[float, float]:
    """Load instructions of one access, and the registers that hold what it loads."""
    lanes = tile.choice.lanes
    if access.form is None:
        return tile.vectors * lanes, tile.vectors * lanes
    terms = access.form.terms
    if access.is_in_row and tile.vector not in terms:
        return 0.0, 0.0
    own = tuple([each for each in tile.extents.items() if each[0] in terms])
    steps = tuple([each for each in unrolled.items() if each[0] in terms]) if unrolled else ()
    loaded, held = _affine_counts(access, tile.analysis.nest, tile.vector, lanes, own, steps)
    return loaded, 0.0 if access.is_joined else held


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
    if not _is_streamed(access, vector, nest):  # a reduction's own lanes are better along rows
        row = neighbours(access.form, vector, extents)
        return loaded * move_instructions(access.form.coefficient(vector), row, lanes), held
    if access.constant and nest.reduction:  # packed ones begin with a line
        return loaded, held
    begins = access.whole_vectors(nest.reduction, unrolled)
    return loaded * (1 + split_share(begins, access.bytes, vector, lanes)), held


@remembered(REMEMBERED)
def body_loads(tile: Tile) -> BodyLoads:
    """The loads of a tile's reduction body."""
    nest, accesses, vector = tile.analysis.nest, _of_each_step(tile), tile.vector
    single = [_counts(access, tile) for access in accesses]
    counts, held = tuple(n for n, _ in single), tuple(n for _, n in single)
    strided = any(_is_strided(access, vector, nest) for access in accesses)
    if tile.choice.vector == -2 or tile.choice.unroll == 1:
        moved = _added(n for n, access in zip(held, accesses, strict=True) if access.repeats)
        return BodyLoads(counts, held, strided, 1, sum(counts), shuffled=moved)
    steps = [_counts(access, tile, tile.written_out) for access in accesses]
    values = _added(n for _, n in steps)
    found = BodyLoads(
        counts=counts,
        held=held,
        strided=strided,
        together=prod(tile.written_out.values()),
        shared=_added(n for n, _ in steps),
        values=values,
        live=values,
        shuffled=_added(n for (_, n), a in zip(steps, accesses, strict=True) if a.repeats),
        sources=sum(_sources(access, tile) for access in accesses if access.repeats),
    )
    vectors = tuple(a for a in accesses if a.form is None or vector in a.form.terms)
    waiting = vectors if strided else accesses
    most = tile.machine.coefficients.shared_loads
    once, all_steps = (
        _added(n for n, access in zip(each, accesses, strict=True) if access in waiting)
        for each in (held, [n for _, n in steps])
    )
    if all_steps >= most * found.together * once:
        return found
    return _sliding(found, tile, waiting, vectors)


def _of_each_step(tile: Tile) -> Sequence[Access]:
    """The loads of a step; the scales of a block of constants are loaded once for all of its."""
    accesses, order = tile.analysis.body_accesses, tile.order
    if tile.analysis.integer_sums:
        return [a for a in accesses if a.form is None or a.form.coefficient(order[-1])]
    if not tile.analysis.conversions:
        return accesses
    inner = order[-2:] if len(order) > 2 else order[-1:]
    return [
        access
        for access in accesses
        if not access.constant or access.form is None or any(map(access.form.coefficient, inner))
    ]


def _sliding(
    found: BodyLoads, tile: Tile, waiting: Sequence[Access], vectors: Sequence[Access]
) -> BodyLoads:
    """The loads of steps that share what they load; some are `waiting`, `vectors` have lanes."""
    analysis, lanes, unrolled = tile.analysis, tile.choice.lanes, tile.written_out
    accesses, extents = _of_each_step(tile), tile.extents
    windows = _window_positions(accesses, tile.order, unrolled, extents)
    between, in_row = (_inner_steps(tile.order, unrolled, position) for position in windows)
    carried: tuple[Carried, ...] = ()
    if analysis.beside_windows or analysis.independent:
        points = {a: -(-n // lanes) if a is tile.vector else n for a, n in extents.items()}
        sharing = accesses if analysis.independent else vectors
        forms = [a.form for a in sharing if a.form is not None and not a.is_joined]
        carried = carried_values(forms, points, unrolled)
    return replace(
        found,
        live=load_count(waiting, tile, between, values=True),
        slides=True,
        row=load_count(vectors, tile, in_row, values=True),
        row_steps=prod(in_row.values()),
        carried=carried,
        in_registers=_multiplies_words(analysis.nest),
    )


def _multiplies_words(nest: Nest) -> bool:
    return isinstance(nest.body, Binary) and nest.body.operation in DOT_PRODUCTS


def _added(counts: Iterable[float]) -> float:
    """The sum, in order."""
    total = 0.0
    for count in counts:
        total += count
    return total


def _sources(access: Access, tile: Tile) -> float:
    """The vectors that stay while written-out steps pick one element after another."""
    inside = access.steps_within(tile.written_out)
    if access.form is None or inside is None:
        return 0.0
    form = access.whole_vectors(tile.analysis.nest.reduction)
    return distinct_places(form, tile.extents, inside, tile.vector, tile.choice.lanes)


def _window_positions(
    accesses: Sequence[Access],
    reduction: Sequence[Axis],
    unrolled: Mapping[Axis, int],
    extents: Mapping[Axis, int],
) -> tuple[int, int]:
    """The outermost and innermost positions of axes along which written-out steps share loads.

    What they share waits for the steps of all axes further in.
    """
    sliding = [
        position
        for position, axis in enumerate(reduction)
        if unrolled[axis] > 1 and any(_shares(a, axis, unrolled, extents) for a in accesses)
    ]
    return (min(sliding), max(sliding)) if sliding else (0, 0)


def _shares(
    access: Access, step: Axis, unrolled: Mapping[Axis, int], extents: Mapping[Axis, int]
) -> bool:
    """Whether points of a tile read in one step what their neighbours read in another."""
    apart = 0 if access.form is None else access.form.coefficient(step)
    if access.form is None or not apart:
        return False
    for axis, extent in extents.items():
        factor = access.form.terms.get(axis, 0)
        if extent > 1 and factor % apart == 0 and 0 < factor // apart < unrolled[step]:
            return True
    return False


def _inner_steps(
    reduction: Sequence[Axis], unrolled: Mapping[Axis, int], position: int
) -> dict[Axis, int]:
    """The written-out steps of the axes from a position on; one of those further out."""
    return {axis: unrolled[axis] if n >= position else 1 for n, axis in enumerate(reduction)}


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
