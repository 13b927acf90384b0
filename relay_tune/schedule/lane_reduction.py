"""Reductions along the vector lanes: each element as vectors of partial results.

    partial[way, lane] = neutral element                      `ways` independent vectors
    for blocks of ways * lanes elements: partial = combine(partial, body)
    total = combine(all of partial, the elements that fill no block)

This is for axes that only the reduction runs along, such as the row of a softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from relay_tune.schedule.loop_shapes import loop_over, over_lanes
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Scalar,
    binary,
    literal,
    neutral_element,
    select,
)
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Buffer,
    LaneReduce,
    LoopKind,
    Scope,
    Statement,
    Store,
)
from relay_tune.tensor.size import ceiling_quotient, is_symbolic
from relay_tune.tensor.walk import substitute

STEPS = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}
"""The binary operation of each reduction."""


def combine(operation: str, accumulated: Scalar, value: Scalar) -> Scalar:
    """One step of a reduction."""
    return binary(STEPS[operation], accumulated, value)


@dataclass(frozen=True, slots=True)
class LaneReduction:
    """A reduction whose innermost axis runs along the lanes.

    Attributes:
        operation: what combines two values.
        body: what is reduced.
        axes: the reduction axes, outermost first; the last one runs along the lanes.
        lanes: elements of a vector.
        ways: independent vectors.
    """

    operation: str
    body: Scalar
    axes: tuple[Axis, ...]
    lanes: int
    ways: int

    def statement(
        self, values: Mapping[Axis, Scalar], finish: Callable[[Scalar], Statement]
    ) -> Statement:
        """The reduction at the point `values` of the other axes; `finish` is given the total."""
        dtype = self.body.dtype
        partial = Buffer(
            name="partial", shape=(self.ways, self.lanes), dtype=dtype, scope=Scope.REGISTER
        )
        total = Buffer(name="total", shape=(), dtype=dtype, scope=Scope.REGISTER)
        neutral = literal(neutral_element(self.operation, dtype), dtype)
        way, lane = Axis("way", self.ways), Axis("lane", self.lanes)
        parts: list[Statement] = [
            over_lanes(way, lane, Store(partial, (way, lane), neutral)),
            Store(total, (), neutral),
            self._over_outer_axes(self._inner(values, partial, total)),
        ]
        if self._blocks:
            parts.append(self._combine_ways(partial, total))
        parts.append(finish(total[()]))
        return Allocate(partial, Allocate(total, Block(tuple(parts))))

    @property
    def _blocks(self) -> int:
        return self.axes[-1].extent // (self.lanes * self.ways)

    def _over_outer_axes(self, body: Statement) -> Statement:
        for axis in reversed(self.axes[:-1]):
            body = loop_over(axis, body)
        return body

    def _inner(self, values: Mapping[Axis, Scalar], partial: Buffer, total: Buffer) -> Statement:
        """All of the innermost axis: whole blocks into `partial`, the rest into `total`.

        The rest of an open axis goes into the first vector of `partial`, under masks.
        """
        axis, step = self.axes[-1], self.lanes * self.ways
        tail = (
            [self._open_tail(values, self._blocks * step, partial)]
            if is_symbolic(axis.extent)
            else self._tail(values, self._blocks * step, total)
        )
        if not self._blocks:
            return Block(tuple(tail))
        way, lane = Axis("way", self.ways), Axis("lane", self.lanes)
        block = Axis(f"{axis.name}_b", self._blocks)
        place = block * step + way * self.lanes + lane
        at = substitute(self.body, {**values, axis: place})
        update = Store(partial, (way, lane), self._combined(partial[way, lane], at))
        return Block((loop_over(block, over_lanes(way, lane, update)), *tail))

    def _tail(
        self, values: Mapping[Axis, Scalar], begin: int, total: Buffer
    ) -> Sequence[Statement]:
        """The elements that fill no block, in ever smaller vectors added to the total."""
        axis, width = self.axes[-1], self.lanes
        statements: list[Statement] = []
        while begin < axis.extent:
            while begin + width > axis.extent:
                width //= 2
            lane = Axis("tail", width)
            at = substitute(self.body, {**values, axis: lane + begin})
            value = self._over_lane(lane, at)
            statements.append(Store(total, (), self._combined(total[()], value)))
            begin += width
        return statements

    def _open_tail(self, values: Mapping[Axis, Scalar], begin: int, partial: Buffer) -> Statement:
        """The elements of an open axis from `begin` on, which fill less than a block."""
        axis, dtype = self.axes[-1], self.body.dtype
        vectors = ceiling_quotient(axis.extent - begin, self.lanes)
        number, lane = Axis("tail", vectors), Axis("lane", self.lanes)
        place = number * self.lanes + lane + begin
        at = substitute(self.body, {**values, axis: place})
        neutral = literal(neutral_element(self.operation, dtype), dtype)
        value = select(binary("lt", place, axis.extent), at, neutral)
        cell = (literal(0, INDEX), lane)
        update = Store(partial, cell, self._combined(partial[cell], value))
        return loop_over(number, loop_over(lane, update, LoopKind.VECTOR))

    def _combine_ways(self, partial: Buffer, total: Buffer) -> Statement:
        lane = Axis("lane", self.lanes)
        combined: Scalar = partial[0, lane]
        for way in range(1, self.ways):
            combined = self._combined(combined, partial[way, lane])
        value = self._over_lane(lane, combined)
        return Store(total, (), self._combined(total[()], value))

    def _over_lane(self, lane: Axis, value: Scalar) -> Scalar:
        if lane.extent == 1:
            return substitute(value, {lane: literal(0, INDEX)})
        return LaneReduce(self.operation, lane, value, dtype=self.body.dtype)

    def _combined(self, accumulated: Scalar, value: Scalar) -> Scalar:
        return combine(self.operation, accumulated, value)
