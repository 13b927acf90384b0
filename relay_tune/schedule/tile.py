"""The tile sketch: a register tile inside outer loops, for any nest.

    for outer tiles in order (the outermost fused into one parallel loop)
      accumulators of the tile = neutral element        in registers
      for reduction axes in order, the innermost unrolled
        accumulators = combine(accumulators, body)      unrolled over the tile, vectors on one axis
      store the epilogue of the accumulators

Sizes that no tile divides get tiles of their own at the edge. Constants read along the vector axis
are packed in the order of consumption.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from relay_tune.schedule.nest import Nest
from relay_tune.schedule.packing import PackedAxis, PackedConstant, PackRecipe
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Load,
    Scalar,
    Tensor,
    binary,
    literal,
    neutral_element,
)
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
    Buffer,
    LaneReduce,
    Let,
    Loop,
    LoopKind,
    Scope,
    Statement,
    Store,
)
from relay_tune.tensor.walk import loads, replace_nodes, substitute

STEPS = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}
MAXIMUM_PACKED_GROWTH = 4


@dataclass(frozen=True, slots=True)
class TileChoice:
    """How a nest is tiled; positions count the nest's axes.

    Attributes:
        vector: the axis that runs along vector lanes; -1 for none, -2 for the lanes of the
            innermost reduction axis.
        lanes: elements of a vector.
        tile: the register tile's extent on each axis (elements; on the vector axis too).
        order: the outer loops, outermost first.
        reduction_order: the reduction loops, outermost first.
        unroll: steps of the innermost reduction loops that are written out; with reduction lanes,
            the independent accumulators.
        parallel: how many of the outer loops are fused into the parallel one; 0 is one thread.
    """

    vector: int
    lanes: int
    tile: tuple[int, ...]
    order: tuple[int, ...]
    reduction_order: tuple[int, ...]
    unroll: int
    parallel: int


@dataclass(slots=True)
class TiledNest:
    """The loops of a tiled nest and the constants that it wants packed."""

    body: Statement
    packed: list[PackedConstant] = field(default_factory=list)


def tile_nest(nest: Nest, choice: TileChoice, constants: frozenset[Tensor]) -> TiledNest:
    """Apply a choice to a nest."""
    return _Tiler(nest, choice, constants).run()


@dataclass(frozen=True, slots=True)
class _Binding:
    """Where a tile stands on an axis: its number, its first element, its extent."""

    number: Scalar
    base: Scalar
    extent: int


class _Tiler:
    def __init__(self, nest: Nest, choice: TileChoice, constants: frozenset[Tensor]) -> None:
        self.nest = nest
        self.choice = choice
        self.constants = constants
        self.packed: dict[Load, PackedConstant] = {}
        self.vector_axis = nest.axes[choice.vector] if choice.vector >= 0 else None
        self.reduction = tuple(nest.reduction[place] for place in choice.reduction_order)
        self.tiles = dict(zip(nest.axes, choice.tile, strict=True))
        self._choose_packed()

    def run(self) -> TiledNest:
        order = [self.nest.axes[place] for place in self.choice.order]
        counts = [-(-axis.extent // self.tiles[axis]) for axis in order]
        numbers = [Axis(f"{axis.name}_t", count) for axis, count in zip(order, counts, strict=True)]
        body = self._outer(0, order, numbers, {})
        fused = self.choice.parallel
        if fused:
            body = _parallel(numbers[:fused], body)
        return TiledNest(body, list(self.packed.values()))

    # Outer loops -----------------------------------------------------------------------------

    def _outer(
        self,
        level: int,
        order: Sequence[Axis],
        numbers: Sequence[Axis],
        bindings: dict[Axis, _Binding],
    ) -> Statement:
        """The loops over tile numbers from `level` inwards (those that are fused: bodies only)."""
        if level == len(order):
            return self._tile(bindings)
        axis, number = order[level], numbers[level]
        tile = self.tiles[axis]
        full, rest = divmod(axis.extent, tile)

        def inside(binding: _Binding) -> Statement:
            return self._outer(level + 1, order, numbers, {**bindings, axis: binding})

        edge = _Binding(literal(full, INDEX), literal(full * tile, INDEX), rest)
        if full == 0:
            body = inside(edge)
        elif rest == 0:
            body = inside(_Binding(number, number * tile, tile))
        else:
            whole = inside(_Binding(number, number * tile, tile))
            body = Branch(binary("lt", number, full), whole, inside(edge))
        if level < self.choice.parallel:
            return body
        return _loop(number, body)

    # One register tile -----------------------------------------------------------------------

    def _tile(self, bindings: dict[Axis, _Binding]) -> Statement:
        if self.choice.vector == -2:
            return self._lane_tile(bindings)
        if self.nest.body is None:
            return self._over_tile(bindings, lambda point: self._store(point, None))
        accumulators = self._accumulators(bindings)
        dtype = self.nest.body.dtype
        assert self.nest.operation is not None
        neutral = literal(neutral_element(self.nest.operation, dtype), dtype)

        def start(point: _Point) -> Statement:
            return Store(accumulators, point.cell, neutral)

        def step(point: _Point) -> Statement:
            value = self._reduced_value(point)
            return Store(accumulators, point.cell, self._combine(accumulators[point.cell], value))

        def finish(point: _Point) -> Statement:
            return self._store(point, accumulators[point.cell])

        return Allocate(
            accumulators,
            Block(
                (
                    self._over_tile(bindings, start),
                    self._reduction_loops(lambda: self._over_tile(bindings, step)),
                    self._over_tile(bindings, finish),
                )
            ),
        )

    def _accumulators(self, bindings: dict[Axis, _Binding]) -> Buffer:
        assert self.nest.body is not None
        shape = []
        for axis in self.nest.axes:
            extent = bindings[axis].extent
            if axis is self.vector_axis:
                continue
            shape.append(extent)
        if self.vector_axis is not None:
            vectors = -(-bindings[self.vector_axis].extent // self.choice.lanes)
            shape += [vectors, self.choice.lanes]
        return Buffer(
            name="accumulators",
            shape=tuple(shape),
            dtype=self.nest.body.dtype,
            scope=Scope.REGISTER,
        )

    def _over_tile(
        self, bindings: dict[Axis, _Binding], write: Callable[[_Point], Statement]
    ) -> Statement:
        """`write` for each point of the tile, unrolled, vectors on the vector axis."""
        inner = {
            axis: Axis(f"{axis.name}_i", binding.extent)
            for axis, binding in bindings.items()
            if axis is not self.vector_axis
        }
        values: dict[Axis, Scalar] = {}
        for axis, position in inner.items():
            values[axis] = bindings[axis].base + position
        cell: tuple[Scalar, ...] = tuple(inner[axis] for axis in self.nest.axes if axis in inner)
        if self.vector_axis is None:
            body = write(_Point(self, bindings, inner, values, cell, None))
        else:
            body = self._over_vectors(bindings, inner, values, cell, write)
        for axis in reversed([axis for axis in self.nest.axes if axis in inner]):
            body = _loop(inner[axis], body, LoopKind.UNROLLED)
        return body

    def _over_vectors(
        self,
        bindings: dict[Axis, _Binding],
        inner: dict[Axis, Axis],
        values: dict[Axis, Scalar],
        cell: tuple[Scalar, ...],
        write: Callable[[_Point], Statement],
    ) -> Statement:
        axis = self.vector_axis
        assert axis is not None
        lanes = self.choice.lanes
        binding = bindings[axis]
        full, rest = divmod(binding.extent, lanes)
        parts: list[Statement] = []
        for count, active in ((full, lanes), (1 if rest else 0, rest)):
            if not count:
                continue
            lane = Axis(f"{axis.name}_l", active)
            number: Scalar = (
                Axis(f"{axis.name}_v", count) if active == lanes else literal(full, INDEX)
            )
            place = number * lanes + lane
            point = _Point(
                self,
                bindings,
                inner,
                {**values, axis: binding.base + place},
                (*cell, number, lane),
                place,
            )
            body = _loop(lane, write(point), LoopKind.VECTOR)
            if isinstance(number, Axis):
                body = _loop(number, body, LoopKind.UNROLLED)
            parts.append(body)
        return parts[0] if len(parts) == 1 else Block(tuple(parts))

    def _reduction_loops(self, step: Callable[[], Statement]) -> Statement:
        """The reduction loops around a step that reads the nest's own reduction axes."""
        body = step()
        unrolled = unrolled_extents(self.reduction, self.choice.unroll)
        for axis in reversed(self.reduction):
            body = _unrolled(axis, unrolled[axis], body)
        return body

    def _combine(self, accumulated: Scalar, value: Scalar) -> Scalar:
        assert self.nest.operation is not None
        step = STEPS[self.nest.operation]
        if step in ("max", "min"):
            return binary(step, value, accumulated)
        return binary(step, accumulated, value)

    def _reduced_value(self, point: _Point) -> Scalar:
        assert self.nest.body is not None
        replaced: dict[Scalar, Scalar] = {
            load: point.packed_load(packed) for load, packed in self.packed.items()
        }
        return substitute(replace_nodes(self.nest.body, replaced), point.values)

    def _store(self, point: _Point, reduced: Scalar | None) -> Statement:
        result = self.nest.result
        if reduced is not None:
            own: dict[Scalar, Scalar] = {
                load: reduced for load in loads(result) if load.tensor is self.nest.accumulator
            }
            result = replace_nodes(result, own)
        index = substitute(self.nest.index, point.values)
        return Store(self.nest.target, (index,), substitute(result, point.values))

    # Reductions along the lanes --------------------------------------------------------------

    def _lane_tile(self, bindings: dict[Axis, _Binding]) -> Statement:
        """Each element of the tile as a vector of partial results, combined at the end."""
        return self._over_tile(bindings, self._lane_element)

    def _lane_element(self, point: _Point) -> Statement:
        body, operation = self.nest.body, self.nest.operation
        assert body is not None and operation is not None
        lanes, ways = self.choice.lanes, self.choice.unroll
        axis = self.reduction[-1]
        neutral = literal(neutral_element(operation, body.dtype), body.dtype)
        partial = Buffer(
            name="partial", shape=(ways, lanes), dtype=body.dtype, scope=Scope.REGISTER
        )
        total = Buffer(name="total", shape=(), dtype=body.dtype, scope=Scope.REGISTER)
        way, lane = Axis("way", ways), Axis("lane", lanes)
        step = lanes * ways
        blocks = axis.extent // step
        block = Axis(f"{axis.name}_b", max(blocks, 1))
        at = substitute(body, {**point.values, axis: block * step + way * lanes + lane})
        update = Store(partial, (way, lane), self._combine(partial[way, lane], at))
        statements: list[Statement] = [
            _over_lanes(way, lane, Store(partial, (way, lane), neutral)),
        ]
        loops: Statement = _loop(block, _over_lanes(way, lane, update))
        tail = self._lane_tail(point, axis, blocks * step, total)
        outer = self.reduction[:-1]
        if not blocks:
            loops = Block(())
        statements.append(Store(total, (), neutral))
        inside: Statement = Block((loops, *tail))
        for reduced in reversed(outer):
            inside = _loop(reduced, inside)
        statements.append(inside)
        if blocks:
            statements += self._combine_ways(partial, total, ways, lanes)
        statements.append(self._store(point, total[()]))
        return Allocate(partial, Allocate(total, Block(tuple(statements))))

    def _lane_tail(self, point: _Point, axis: Axis, begin: int, total: Buffer) -> list[Statement]:
        """The elements that fill no block, in ever smaller vectors added to the total."""
        body, operation = self.nest.body, self.nest.operation
        assert body is not None and operation is not None
        statements: list[Statement] = []
        width = self.choice.lanes
        while begin < axis.extent:
            while begin + width > axis.extent:
                width //= 2
            lane = Axis("tail", width)
            at = substitute(body, {**point.values, axis: lane + begin})
            value: Scalar = (
                LaneReduce(operation, lane, at, dtype=body.dtype)
                if width > 1
                else substitute(at, {lane: literal(0, INDEX)})
            )
            statements.append(Store(total, (), self._combine(total[()], value)))
            begin += width
        return statements

    def _combine_ways(
        self, partial: Buffer, total: Buffer, ways: int, lanes: int
    ) -> list[Statement]:
        lane = Axis("lane", lanes)
        assert self.nest.operation is not None
        combined: Scalar = partial[0, lane]
        for way in range(1, ways):
            combined = self._combine(combined, partial[way, lane])
        value = (
            LaneReduce(self.nest.operation, lane, combined, dtype=partial.dtype)
            if lanes > 1
            else substitute(combined, {lane: literal(0, INDEX)})
        )
        return [Store(total, (), self._combine(total[()], value))]

    # Packing ---------------------------------------------------------------------------------

    def _choose_packed(self) -> None:
        if self.nest.body is None or self.vector_axis is None or not self.reduction:
            return
        for load in loads(self.nest.body):
            recipe = self._recipe(load)
            if recipe is not None:
                tensor = Buffer(
                    name=f"{load.tensor.name}_packed",
                    shape=recipe.shape,
                    dtype=load.tensor.dtype,
                    scope=Scope.ARGUMENT,
                )
                assert isinstance(load.tensor, FlatView)
                self.packed[load] = PackedConstant(tensor, load.tensor.viewed, recipe)

    def _recipe(self, load: Load) -> PackRecipe | None:
        """How to pack the constant that a load reads, or None if it is to stay as it is."""
        if not isinstance(load.tensor, FlatView) or load.tensor.viewed not in self.constants:
            return None
        form = axis_affine(load.indices[0])
        if form is None or any(factor < 0 for factor in form.terms.values()):
            return None
        if self.vector_axis is None or form.coefficient(self.vector_axis) == 0:
            return None
        tiled = tuple(
            PackedAxis(axis.extent, form.coefficient(axis), self.tiles[axis])
            for axis in self._tiled_axes(load)
        )
        plain = tuple(
            PackedAxis(axis.extent, form.coefficient(axis), 1)
            for axis in self.reduction
            if form.coefficient(axis)
        )
        recipe = PackRecipe(form.constant, tiled, plain)
        if recipe.size > MAXIMUM_PACKED_GROWTH * prod(load.tensor.shape) + 4096:
            return None
        return recipe

    def _tiled_axes(self, load: Load) -> list[Axis]:
        """The output axes that a load depends on, in loop order, the vector axis last."""
        form = axis_affine(load.indices[0])
        assert form is not None
        ordered = [self.nest.axes[place] for place in self.choice.order]
        found = [a for a in ordered if form.coefficient(a) and a is not self.vector_axis]
        assert self.vector_axis is not None
        return [*found, self.vector_axis]

    def packed_indices(self, load: Load, point: _Point) -> tuple[Scalar, ...]:
        """Where a point of a tile finds its element in a packed constant."""
        form = axis_affine(load.indices[0])
        assert form is not None and point.place is not None
        axes = self._tiled_axes(load)
        numbers = [point.bindings[axis].number for axis in axes]
        plain = [axis for axis in self.reduction if form.coefficient(axis)]
        inside: list[Scalar] = [point.inner[axis] for axis in axes[:-1]]
        return (*numbers, *plain, *inside, point.place)


@dataclass(frozen=True, slots=True)
class _Point:
    """A point (or vector of points) of a register tile.

    Attributes:
        values: what the nest's axes are there.
        cell: the place of its accumulator.
        place: its position in the tile along the vector axis.
    """

    tiler: _Tiler
    bindings: dict[Axis, _Binding]
    inner: dict[Axis, Axis]
    values: dict[Axis, Scalar]
    cell: tuple[Scalar, ...]
    place: Scalar | None

    def packed_load(self, packed: PackedConstant) -> Scalar:
        """The load of a packed constant at this point."""
        load = next(key for key, value in self.tiler.packed.items() if value is packed)
        indices = self.tiler.packed_indices(load, self)
        return Load(packed.tensor, indices, dtype=packed.tensor.dtype)


def _loop(axis: Axis, body: Statement, kind: LoopKind = LoopKind.SERIAL) -> Statement:
    return Loop(axis, literal(0, INDEX), literal(axis.extent, INDEX), body, kind)


def _over_lanes(way: Axis, lane: Axis, body: Statement) -> Statement:
    return _loop(way, _loop(lane, body, LoopKind.VECTOR), LoopKind.UNROLLED)


def unrolled_extents(reduction: Sequence[Axis], unroll: int) -> dict[Axis, int]:
    """How many steps of each reduction axis are written out: all of the innermost ones first."""
    extents: dict[Axis, int] = {}
    for axis in reversed(reduction):
        extents[axis] = max(1, min(axis.extent, unroll))
        unroll = unroll // axis.extent if extents[axis] == axis.extent else 1
    return extents


def _unrolled(axis: Axis, unroll: int, body: Statement) -> Statement:
    """A loop over `axis` whose body is repeated; what is left over follows, written out."""
    if unroll <= 1:
        return _loop(axis, body)
    blocks, rest = divmod(axis.extent, unroll)
    block, step = Axis(f"{axis.name}_o", blocks), Axis(f"{axis.name}_u", unroll)
    main = _loop(
        block,
        _loop(step, Let(axis, block * unroll + step, body), LoopKind.UNROLLED),
    )
    if not rest:
        return main
    left = Axis(f"{axis.name}_r", rest)
    tail = _loop(left, Let(axis, left + blocks * unroll, body), LoopKind.UNROLLED)
    return Block((main, tail))


def _parallel(numbers: Sequence[Axis], body: Statement) -> Statement:
    """Fuse tile numbers into one parallel loop; each is found again by division."""
    total = prod(axis.extent for axis in numbers)
    fused = Axis("parallel", total)
    stride = 1
    for axis in reversed(numbers):
        value = (fused // stride) % axis.extent if stride * axis.extent < total else fused // stride
        body = Let(axis, value, body)
        stride *= axis.extent
    return _loop(fused, body, LoopKind.PARALLEL)
