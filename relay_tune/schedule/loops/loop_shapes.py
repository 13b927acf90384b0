"""The shapes of loops that sketches are put together from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from relay_tune.tensor.expression import INDEX, Axis, Scalar, literal
from relay_tune.tensor.loops import Block, Let, Loop, LoopKind, Statement
from relay_tune.tensor.size import is_symbolic


def loop_over(axis: Axis, body: Statement, kind: LoopKind = LoopKind.SERIAL) -> Loop:
    """A loop over all of an axis."""
    return Loop(axis, literal(0, INDEX), literal(axis.extent, INDEX), body, kind)


def over_lanes(way: Axis, lane: Axis, body: Statement) -> Statement:
    """`body` for each of some vectors, written out."""
    return loop_over(way, loop_over(lane, body, LoopKind.VECTOR), LoopKind.UNROLLED)


def unrolled_loop(
    axis: Axis,
    unroll: int,
    body: Statement,
    before: Callable[[Axis], Sequence[Statement]] = lambda group: (),
    kind: LoopKind = LoopKind.UNROLLED,
) -> Statement:
    """A loop over `axis` whose body is repeated; what is left over follows, written out.

    What is left over of an open axis is a loop.

    `before` gives what stands in front of each group of repeated bodies, `kind` says how they are
    repeated.
    """
    if unroll <= 1:
        return loop_over(axis, _block(*before(axis), body))
    blocks, rest = divmod(axis.extent, unroll)
    block, step = Axis(f"{axis.name}_o", blocks), Axis(f"{axis.name}_u", unroll)
    steps = loop_over(step, Let(axis, block * unroll + step, body), kind)
    main = loop_over(block, _block(*before(block), steps))
    if not rest:
        return main
    left = Axis(f"{axis.name}_r", rest)
    of_rest = LoopKind.SERIAL if is_symbolic(rest) else kind
    tail = loop_over(left, Let(axis, left + blocks * unroll, body), of_rest)
    return Block((main, tail))


def _block(*statements: Statement) -> Statement:
    return statements[0] if len(statements) == 1 else Block(statements)


def parallel_loop(
    numbers: Sequence[Axis],
    body: Statement,
    fused: Axis | None = None,
    share: tuple[Axis, Axis] | None = None,
) -> Statement:
    """Fuse tile numbers into one parallel loop; each is found again by division.

    `share` stands for the begin and the end of what a thread runs of `fused`, if `body` asks.
    """
    if fused is None:
        fused = Axis("parallel", prod(axis.extent for axis in numbers))
    whole = numbered(numbers, fused, body)
    ends = literal(0, INDEX), literal(fused.extent, INDEX)
    return Loop(fused, *ends, whole, LoopKind.PARALLEL, share)


def numbered(numbers: Sequence[Axis], fused: Scalar, body: Statement) -> Statement:
    """`body` with the tile numbers that a number of all tiles stands for."""
    total, stride = prod(axis.extent for axis in numbers), 1
    for axis in reversed(numbers):
        is_first = stride * axis.extent == total
        value = fused // stride if is_first else (fused // stride) % axis.extent
        body = Let(axis, value, body)
        stride *= axis.extent
    return body
