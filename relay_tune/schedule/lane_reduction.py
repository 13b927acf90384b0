"""Reductions along the vector lanes: each element as vectors of partial results.

    partial[way, lane] = neutral element                      `ways` independent vectors
    for blocks of ways * lanes elements: partial = combine(partial, body)
    partial = combine(partial, the elements that fill no block), the last vector under a mask
    total = combine(all of partial)

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
        way, lane = Axis("way", self.ways), Axis("lane", self.lanes)
        parts: list[Statement] = [
            over_lanes(way, lane, Store(partial, (way, lane), self._neutral)),
            self._over_outer_axes(self._inner(values, partial)),
            Store(total, (), self._over_lane(partial)),
            finish(total[()]),
        ]
        return Allocate(partial, Allocate(total, Block(tuple(parts))))

    @property
    def _neutral(self) -> Scalar:
        dtype = self.body.dtype
        return literal(neutral_element(self.operation, dtype), dtype)

    @property
    def _blocks(self) -> int:
        return self.axes[-1].extent // (self.lanes * self.ways)

    def _over_outer_axes(self, body: Statement) -> Statement:
        for axis in reversed(self.axes[:-1]):
            body = loop_over(axis, body)
        return body

    def _inner(self, values: Mapping[Axis, Scalar], partial: Buffer) -> Statement:
        """All of the innermost axis: whole blocks, whole vectors, and the rest under a mask."""
        axis, step = self.axes[-1], self.lanes * self.ways
        begin = self._blocks * step
        way, lane = Axis("way", self.ways), Axis("lane", self.lanes)
        block = Axis(f"{axis.name}_b", self._blocks)
        place = block * step + way * self.lanes + lane
        update = self._update(values, partial, (way, lane), place)
        parts: list[Statement] = []
        if self._blocks:
            parts.append(loop_over(block, over_lanes(way, lane, update)))
        if is_symbolic(axis.extent):
            parts.append(self._open_rest(values, begin, partial))
        elif begin < axis.extent:
            parts += self._rest(values, begin, partial)
        return Block(tuple(parts))

    def _rest(
        self, values: Mapping[Axis, Scalar], begin: int, partial: Buffer
    ) -> Sequence[Statement]:
        """The elements from `begin` on, which fill less than a block."""
        whole, rest = divmod(self.axes[-1].extent - begin, self.lanes)
        parts: list[Statement] = []
        if whole:
            way, lane = Axis("way", whole), Axis("lane", self.lanes)
            place = way * self.lanes + lane + begin
            parts.append(over_lanes(way, lane, self._update(values, partial, (way, lane), place)))
        if rest:
            number = literal(whole, INDEX)
            parts.append(self._masked(values, partial, number, number, begin))
        return parts

    def _open_rest(self, values: Mapping[Axis, Scalar], begin: int, partial: Buffer) -> Statement:
        """The same for an open axis: all into the first vector."""
        vectors = ceiling_quotient(self.axes[-1].extent - begin, self.lanes)
        number = Axis("rest", vectors)
        return loop_over(number, self._masked(values, partial, number, literal(0, INDEX), begin))

    def _masked(
        self,
        values: Mapping[Axis, Scalar],
        partial: Buffer,
        number: Scalar,
        way: Scalar,
        begin: int,
    ) -> Statement:
        """A vector of the rest that may reach beyond the end, into a vector of `partial`."""
        axis, lane = self.axes[-1], Axis("lane", self.lanes)
        place = number * self.lanes + lane + begin
        at = substitute(self.body, {**values, axis: place})
        value = select(binary("lt", place, axis.extent), at, self._neutral)
        update = Store(partial, (way, lane), self._combined(partial[way, lane], value))
        return loop_over(lane, update, LoopKind.VECTOR)

    def _update(
        self,
        values: Mapping[Axis, Scalar],
        partial: Buffer,
        cell: tuple[Scalar, Scalar],
        place: Scalar,
    ) -> Statement:
        at = substitute(self.body, {**values, self.axes[-1]: place})
        return Store(partial, cell, self._combined(partial[cell], at))

    def _over_lane(self, partial: Buffer) -> Scalar:
        """All vectors of `partial` that were written to, and their lanes, as one."""
        lane = Axis("lane", self.lanes)
        found: list[Scalar] = [partial[way, lane] for way in range(self._ways_in_use)]
        while len(found) > 1:  # pairs, so that few wait for each other
            pairs = zip(found[::2], found[1::2], strict=False)
            odd = found[-1:] if len(found) % 2 else []
            found = [self._combined(left, right) for left, right in pairs] + odd
        return LaneReduce(self.operation, lane, found[0], dtype=self.body.dtype)

    @property
    def _ways_in_use(self) -> int:
        if is_symbolic(self.axes[-1].extent):
            return self.ways
        return min(self.ways, -(-self.axes[-1].extent // self.lanes))

    def _combined(self, accumulated: Scalar, value: Scalar) -> Scalar:
        return combine(self.operation, accumulated, value)
