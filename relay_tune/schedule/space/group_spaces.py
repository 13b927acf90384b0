"""What nests cost that a group runs block by block: most of what they read is in L1 or L2."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import LINE_BYTES, Machine
from relay_tune.schedule.cost.access import Near
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.loops.prefetch.neighbours import TouchedRows, fetched_beside
from relay_tune.schedule.loops.prefetch.next_block import tensors_ahead
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.nominal_nest import nominal_nest
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.row_groups.sibling_reductions import sibling_runs
from relay_tune.schedule.space.space import NestSpace, nest_space
from relay_tune.tensor.expression import Scalar, Tensor
from relay_tune.tensor.loops import Buffer
from relay_tune.tensor.size import is_symbolic, nominal
from relay_tune.tensor.walk import axes_of, loads


def waiting_cycles(blocks: RowBlocks, machine: Machine) -> float:
    """Cycles in which the nests of a group wait for each other."""
    runs = len(sibling_runs(blocks.nests))
    return machine.coefficients.nest_wait * runs * nominal(blocks.blocks)


def group_spaces(
    blocks: RowBlocks, constants: frozenset[Tensor], machine: Machine, threads: int
) -> Iterator[NestSpace]:
    """The spaces of a group's nests: what one of them has touched is near for the next ones.

    Blocks that leave threads idle at the end are charged as if these worked, too. What the last
    blocks lack of their rows is not, where one thread runs all.
    """
    working_set = _working_set(blocks)
    count = nominal(blocks.blocks)
    repeats: float = -(-count // threads) * threads
    if threads == 1:
        repeats -= _missing_blocks(blocks)
    asking, asked = _asked_beside(blocks, constants)
    touched: set[Tensor] = {*blocks.buffers, *(each.tensor for each in asked)}
    amounts = tuple((each.all_lines * LINE_BYTES, _all_bytes(each.tensor)) for each in asked)
    for run in sibling_runs(blocks.nests):
        for position, nest in enumerate(run):
            own = amounts if nest is asking else ()
            known = frozenset(touched), working_set, count, len(run)
            near = Near(*known, joined=position > 0, asked_for=own)
            example = nominal_nest(nest)
            yield nest_space(example, constants, machine, threads, repeats, near)
            touched |= _touched_by_rows(nest, blocks)


def _asked_beside(
    blocks: RowBlocks, constants: frozenset[Tensor]
) -> tuple[Nest | None, tuple[TouchedRows, ...]]:
    """What the busiest nest asks for, and that nest, where copies would have to wait for it.

    On an intrinsic vector units are idle meanwhile; where parts of a sum follow each other, the
    products of one have time for all that the next one reads. So have those of a panel of weights
    for the weights of the next one.
    """
    has_time = blocks.apart is not None or blocks.packed
    if not has_time and all(intrinsic_match(nest) is None for nest in blocks.nests):
        return None, ()
    positions = (*blocks.outer, blocks.base)
    busiest, touched = fetched_beside(blocks.nests, positions, blocks.rows, constants)
    nest = blocks.nests[busiest]
    if blocks.apart is not None or intrinsic_match(nest) is not None:
        return nest, touched
    weights = {constant.tensor for constant in blocks.packed}
    return nest, tuple(each for each in touched if each.tensor in weights)


def _all_bytes(tensor: Tensor) -> int:
    return nominal(prod(tensor.shape)) * DTYPES[tensor.dtype].itemsize


def _missing_blocks(blocks: RowBlocks) -> float:
    """The rows that blocks at the end are short of, in whole blocks."""
    if is_symbolic(blocks.base.extent):
        return 0.0
    short = blocks.at_end * (blocks.rows - blocks.last_rows)
    return nominal(short * prod(axis.extent for axis in blocks.outer)) / blocks.rows


def _working_set(blocks: RowBlocks) -> int:
    """The bytes that one block touches in tensors of which other blocks touch other parts.

    What is read ahead is there twice: for this block and the next one.
    """
    count = nominal(blocks.blocks)
    touched = {tensor for nest in blocks.nests for tensor in _touched_by_rows(nest, blocks)}
    sizes = {
        tensor: nominal(prod(tensor.shape)) // (1 if tensor in blocks.buffers else count)
        for tensor in (*touched, *blocks.buffers)
    }
    twice = tensors_ahead(blocks.nests, blocks.base)
    return sum(
        size * DTYPES[tensor.dtype].itemsize * (2 if tensor in twice else 1)
        for tensor, size in sizes.items()
    )


def _touched_by_rows(nest: Nest, blocks: RowBlocks) -> set[Tensor]:
    """What a nest loads and stores at another offset for each block."""
    moving = {*blocks.outer, blocks.base}

    def moves(index: Scalar) -> bool:
        return not moving.isdisjoint(axes_of(index))

    found = {
        load.tensor
        for root in nest.roots
        for load in loads(root)
        if load.indices and moves(load.indices[0])
    }
    if moves(nest.index) or isinstance(nest.target, Buffer):
        found.add(nest.target)
    return found
