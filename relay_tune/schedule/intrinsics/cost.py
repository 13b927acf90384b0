"""What a tile on an intrinsic takes, estimated in cycles."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import LINE_BYTES, Machine
from relay_tune.schedule.intrinsics.match import IntrinsicMatch
from relay_tune.tensor.expression import Axis


def least_tile_cycles(match: IntrinsicMatch, machine: Machine) -> float:
    """What no tiles take less than together; without end where there is no such intrinsic."""
    intrinsic = machine.intrinsic(match.pattern)
    if intrinsic is None:
        return inf
    pattern = match.pattern
    calls = match.nest.points / (pattern.rows * pattern.columns * match.register_steps)
    return intrinsic.costs.operands * calls * len(match.terms) * intrinsic.cycles


def tile_cycles(
    match: IntrinsicMatch,
    extents: Mapping[Axis, int],
    machine: Machine,
    row_cycles: float,
    is_near: bool = False,
) -> float:
    """The cycles of a tile of these extents; without end where there is no such intrinsic.

    `row_cycles` are those of a vector of the epilogue; `is_near` says whether the nests before have
    just written all operands, which then hold nothing up.
    """
    intrinsic = machine.intrinsic(match.pattern)
    if intrinsic is None:
        return inf
    pattern, costs = match.pattern, intrinsic.costs
    rows = extents[match.row]
    blocks = 1 if match.block is None else extents[match.block]
    registers = -(-rows // match.register_rows)
    steps = prod(axis.extent for axis in match.outer_reduction) * len(match.terms)
    results = registers * blocks
    independent = results * max(1.0, costs.seen_ahead / (results * steps))
    line = LINE_BYTES // DTYPES[pattern.left].itemsize
    torn = costs.torn_rows if match.stride % line else 1.0
    held_up = 1.0 if is_near else costs.operands * torn
    busy = held_up * max(match.register_rows / pattern.rows, costs.latency / independent)
    lefts = registers * len({left for left, _ in match.terms}) * steps / len(match.terms)
    multiplying = results * steps * busy * intrinsic.cycles + lefts * costs.left_load
    return costs.tile_cycles + multiplying + rows * blocks * row_cycles
