"""What converting constants costs that are stored in a narrow type, beside the sums they are for.

    y[i, o] = sum(b, k) x[i, 32 * b + k] * (float(q[o, b, k]) * s[o, b])

A weight is converted once for all rows of a tile, its scale once for the steps that are written
out, or once a block where the sums of a block have registers of their own
(`relay_tune.schedule.loops.scaled_sums`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from relay_tune.remembered import remembered
from relay_tune.schedule.cost.tile import Tile, distinct_places
from relay_tune.schedule.loops.scaled_sums import ScaledSum, scaled_sum
from relay_tune.schedule.nests.operation_count import WIDENING, instructions, operation_count
from relay_tune.tensor.bit_fields import signed_field
from relay_tune.tensor.expression import Axis, Cast, Scalar
from relay_tune.tensor.scalar_semantics import NARROW_FLOATS
from relay_tune.tensor.walk import axes_of, sub_expressions

REMEMBERED = 1 << 12


@remembered(REMEMBERED)
def step_operations(tile: Tile) -> float:
    """Vector instructions of one step of a tile's reduction."""
    analysis = tile.analysis
    own = tile.vectors * analysis.body_operations + sum(_put_together(tile))
    if analysis.integer_sums:
        own += tile.vectors * _of_integer_sum(tile)
    return own + sum(_converted(tile)) if analysis.conversions else own


def _put_together(tile: Tile) -> Iterator[float]:
    """Instructions of a step for each word that it makes."""
    steps = prod(tile.written_out.values())
    for word in tile.analysis.words:
        made = float(tile.vectors * steps)
        if word.form is not None:
            made = distinct_places(
                word.form, tile.extents, tile.written_out, tile.vector, tile.choice.lanes
            )
        yield word.instructions(tile.vector) * made / steps


def _of_integer_sum(tile: Tile) -> float:
    """Instructions of a block's sum for each of its steps: start, conversion, factor, addition."""
    scaled = scaled_sum(tile.analysis.nest, tile.choice)
    if scaled is None:
        return operation_count(tile.analysis.nest.result, reduced=True)
    once = operation_count(scaled.factor, reduced=False) + 2 + (scaled.start is not None)
    return once / prod(axis.extent for axis in scaled.inner)


def own_sums(tile: Tile) -> int:
    """How many sums of a block have registers of their own beside each other."""
    scaled = _own_sum(tile)
    return 0 if scaled is None else scaled.together


def own_registers(tile: Tile) -> int:
    """The registers of these sums, and of a word that all of them multiply, for each vector."""
    scaled = _own_sum(tile)
    return 0 if scaled is None else scaled.together + (scaled.beside is not None)


def _own_sum(tile: Tile) -> ScaledSum | None:
    analysis = tile.analysis
    if not analysis.integer_sums and not analysis.conversions:
        return None
    return scaled_sum(analysis.nest, tile.choice)


def _converted(tile: Tile) -> Iterator[float]:
    nest, lanes = tile.analysis.nest, tile.choice.lanes
    assert nest.body is not None
    scaled = scaled_sum(nest, tile.choice)
    parts = [(nest.body, tile.written_out)]
    if scaled is not None:
        beside = {} if scaled.beside is None else {scaled.beside: scaled.together}
        parts = [(scaled.term, {**tile.written_out, **beside})]
    if scaled is not None and not scaled.is_integer:  # whose factor is counted with their start
        parts += [(scaled.factor, {axis: tile.steps[axis] for axis in scaled.inner})]
    for root, shared in parts:
        nodes = sub_expressions(root)
        free = _looked_up(nodes, tile.machine.lookup_bits)
        for node in nodes:
            if node not in tile.analysis.conversions or node in free:
                continue
            used = set(axes_of(node))
            points = prod(
                _registers(axis, extent, tile, lanes)
                for axis, extent in tile.extents.items()
                if axis in used
            )
            steps = prod(count for axis, count in shared.items() if axis not in used)
            yield _instructions(node) * points / steps


def _looked_up(nodes: Iterable[Scalar], most_bits: int) -> set[Scalar]:
    """The shifts that give short numbers their signs, where a lookup does all but one of them."""
    fields = (signed_field(node) for node in nodes if isinstance(node, Cast))
    return {each.shifted for each in fields if each is not None and each.bits <= most_bits}


def _registers(axis: Axis, extent: int, tile: Tile, lanes: int) -> int:
    return -(-extent // lanes) if axis is tile.vector else extent


def _instructions(node: Scalar) -> float:
    if not isinstance(node, Cast):
        return instructions(node)
    return WIDENING if node.operand.dtype in NARROW_FLOATS else 1.0
