"""The tile sketch: a register tile inside outer loops, for any nest.

    for outer blocks and tiles in order (the outermost fused into one parallel loop)
      the register tile                      (`relay_tune.schedule.loops.register_tile`)

Sizes that no tile divides get tiles of their own at the edge, open ones several
(`relay_tune.schedule.loops.open_axes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.loops.block_numbers import are_counted, numbered_in_blocks, tile_count
from relay_tune.schedule.loops.intrinsic_tile import IntrinsicTile, of_whole_registers
from relay_tune.schedule.loops.loop_shapes import loop_over, numbered, parallel_loop
from relay_tune.schedule.loops.open_axes import open_choice
from relay_tune.schedule.loops.prefetch.neighbours import TouchedRows
from relay_tune.schedule.loops.prefetch.next_block import ReadAhead
from relay_tune.schedule.loops.prefetch.right_operands import Progress
from relay_tune.schedule.loops.register_tile import RegisterTile
from relay_tune.schedule.loops.tile_points import TilePosition
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.outer_loops import OuterLoop, outer_loops
from relay_tune.schedule.packing import PackedConstant
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Scalar,
    Tensor,
    binary,
    index_value,
    literal,
)
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
    Let,
    Loop,
    LoopKind,
    Statement,
)
from relay_tune.tensor.size import ceiling_quotient, is_symbolic, smaller_size

REMEMBERED = 1024

Bindings = dict[Axis, TilePosition]
Loops = Sequence[tuple[OuterLoop, Axis]]


@dataclass(slots=True)
class TiledNest:
    """The loops of a tiled nest and the constants that it wants packed."""

    body: Statement
    packed: list[PackedConstant] = field(default_factory=list)


@remembered(REMEMBERED, is_code=True)
def tile_nest(
    nest: Nest,
    choice: TileChoice,
    constants: frozenset[Tensor],
    for_others: tuple[TouchedRows | ReadAhead, ...] = (),
) -> TiledNest:
    """Apply a choice to a nest, which also fetches what others of its group touch."""
    match = intrinsic_match(nest)
    choice = open_choice(choice, nest.axes, nest.reduction)
    if match is not None:
        beside = [each for each in for_others if isinstance(each, TouchedRows)]
        tile = IntrinsicTile(match, of_whole_registers(choice, match), beside)
        return TiledNest(tile.configured(_Tiler(nest, tile.choice, tile).run().body))
    return _Tiler(nest, choice, RegisterTile(nest, choice, constants, for_others)).run()


class _Tiler:
    """Writes the outer loops of a nest, down to its register tiles."""

    def __init__(self, nest: Nest, choice: TileChoice, tile: RegisterTile | IntrinsicTile) -> None:
        self.nest = nest
        self.choice = choice
        self.tile = tile
        self.tiles = dict(zip(nest.axes, choice.tile, strict=True))
        self.numbers: list[Axis] = []
        self.fused = 0
        self.is_uniform = False  # whether what stands behind the whole tiles of an open axis is one

    def run(self) -> TiledNest:
        loops = outer_loops(self.nest.axes, self.choice)
        self.fused = min(self.choice.parallel, len(loops))
        if isinstance(self.tile, IntrinsicTile) and self._overlaps(self.tile, loops):
            self.numbers = [Axis(self._loop_name(loop), loop.count) for loop in loops]
            return TiledNest(self._overlapped(self.tile, loops))
        self.numbers = numbers = [Axis(self._loop_name(loop), self._count(loop)) for loop in loops]
        shared = numbers[: self.fused]
        number, share = Axis("parallel", prod(axis.extent for axis in shared)), None
        is_known = self.fused > 0 and not is_symbolic(number.extent)
        if is_known and isinstance(self.tile, IntrinsicTile):
            share = self._counts_from_begin(self.tile, number, self.fused)
        body = self._outer(list(zip(loops, numbers, strict=True)), 0, {}, {}, self._tile)
        if self.fused:
            body = parallel_loop(shared, body, number, share)
        return TiledNest(body, [load.constant for load in self.tile.packed.values()])

    def _overlaps(self, tile: IntrinsicTile, loops: Sequence[OuterLoop]) -> bool:
        """Whether tiles end beside the products of the next: there is one, in any order."""
        opened = [axis for axis in self.nest.axes if is_symbolic(axis.extent)]
        if self.nest.carried:
            return False
        has_next = bool(opened) or prod(loop.count for loop in loops) > 1
        return has_next and tile.hides_epilogue and are_counted(loops)

    def _counts_from_begin(
        self, tile: IntrinsicTile, number: Axis, shared: int
    ) -> tuple[Axis, Axis]:
        """The begin and the end of a thread's share of some loops; its tiles count from there."""
        total = number.extent
        begin, end = Axis("begin", total + 1), Axis("end", total + 1)
        tile.progress = Progress(number - begin, shared)
        return begin, end

    def _overlapped(self, tile: IntrinsicTile, loops: Sequence[OuterLoop]) -> Statement:
        """All loops as one, in which each tile ends beside the products of the next.

        for tile in a thread's share
          steps of its products, each with a share of the epilogue of the tile before
          the epilogue, if it is the last
        """
        total = tile_count(loops, self.nest.axes, self.choice.tile)
        number = Axis("tile", total)
        begin: Scalar = literal(0, INDEX)
        end: Scalar = index_value(total)
        share = None
        if self.fused:
            begin, end = share = self._counts_from_begin(tile, number, len(loops))
        before = [Axis(f"{axis.name}_b", axis.extent) for axis in self.numbers]
        self.fused = len(loops)

        def at(numbers: Sequence[Axis], leaf: Callable[[Bindings], Statement]) -> Statement:
            return self._outer(list(zip(loops, numbers, strict=True)), 0, {}, {}, leaf)

        self.is_uniform = True
        shares = at(before, lambda earlier: tile.epilogue.shares(earlier, tile.steps))
        self.is_uniform = False
        beside = Branch(binary("gt", number, begin), shares)

        def of_tile(bindings: Bindings) -> Statement:
            is_last = binary("ge", number + 1, end)
            products = tile.products(bindings, self.numbers, beside)
            return Block((products, Branch(is_last, tile.epilogue.whole(bindings))))

        body = self._numbered(
            loops, before, binary("max", number - 1, 0), at(self.numbers, of_tile)
        )
        body = self._numbered(loops, self.numbers, number, body)
        kind = LoopKind.SERIAL if share is None else LoopKind.PARALLEL
        loop = Loop(number, literal(0, INDEX), index_value(total), body, kind, share)
        return Allocate(tile.results, loop)

    def _numbered(
        self, loops: Sequence[OuterLoop], numbers: Sequence[Axis], number: Scalar, body: Statement
    ) -> Statement:
        """`body` with the numbers of all loops that the number of a tile stands for."""
        if not loops[0].is_ragged:
            return numbered(numbers, number, body)
        position = loops[0].place
        tiles = ceiling_quotient(self.nest.axes[position].extent, self.choice.tile[position])
        return numbered_in_blocks(loops, numbers, tiles, number, body)

    def _tile(self, bindings: Bindings) -> Statement:
        return self.tile.statement(bindings, self.numbers)

    def _loop_name(self, loop: OuterLoop) -> str:
        return f"{self.nest.axes[loop.place].name}_{'t' if loop.tiles == 1 else 'b'}"

    def _count(self, loop: OuterLoop) -> int:
        """How often a loop runs: where all tiles of an open axis are less than a block, once each.

        A block has as many tiles as the example asks for, which may be far more than there are.
        """
        axis = self.nest.axes[loop.place]
        if loop.tiles > 1 or not loop.is_ragged or not is_symbolic(axis.extent):
            return loop.count
        return smaller_size(ceiling_quotient(axis.extent, self.tiles[axis]), loop.count)

    def _outer(
        self,
        loops: Loops,
        level: int,
        blocks: dict[int, Scalar],
        bindings: Bindings,
        leaf: Callable[[Bindings], Statement],
    ) -> Statement:
        """The loops from `level` inwards (those that are fused: bodies only), around `leaf`.

        `blocks` holds the first tile of the current block for axes that have blocks.
        """
        if level == len(loops):
            return leaf(bindings)
        loop, number = loops[level]
        if loop.tiles > 1:
            first = number * loop.tiles
            body = self._outer(loops, level + 1, {**blocks, loop.place: first}, bindings, leaf)
        else:
            body = self._over_tiles(loops, level, blocks, bindings, leaf)
        return body if level < self.fused else loop_over(number, body)

    def _over_tiles(
        self,
        loops: Loops,
        level: int,
        blocks: dict[int, Scalar],
        bindings: Bindings,
        leaf: Callable[[Bindings], Statement],
    ) -> Statement:
        """The body of a loop over tiles: a full one, or the one at the edge."""
        loop, step = loops[level]
        axis = self.nest.axes[loop.place]
        tile = self.tiles[axis]
        full, rest = divmod(axis.extent, tile)
        first = blocks.get(loop.place)
        count = ceiling_quotient(axis.extent, tile)
        number = step if first is None else Axis(f"{axis.name}_n", count)

        def inside(binding: TilePosition) -> Statement:
            return self._outer(loops, level + 1, blocks, {**bindings, axis: binding}, leaf)

        whole = TilePosition(number, number * tile, tile)
        if is_symbolic(axis.extent):
            body = self._over_open_tiles(axis, number, loop.is_ragged, inside)
            return body if first is None else Let(number, first + step, body)
        edge = TilePosition(literal(full, INDEX), literal(full * tile, INDEX), rest)
        if full == 0:
            body = inside(edge)
        elif rest == 0:
            body = inside(whole)
            if loop.is_ragged:
                body = Branch(binary("lt", number, full), body)
        else:
            last = inside(edge)
            if loop.is_ragged:
                last = Branch(binary("lt", number, full + 1), last)
            body = Branch(binary("lt", number, full), inside(whole), last)
        return body if first is None else Let(number, first + step, body)

    def _over_open_tiles(
        self,
        axis: Axis,
        number: Scalar,
        is_ragged: bool,
        inside: Callable[[TilePosition], Statement],
    ) -> Statement:
        """A whole tile of an open axis, or those behind the last whole one."""
        tile = self.tiles[axis]
        whole = inside(TilePosition(number, number * tile, tile))
        if self.is_uniform:
            return whole
        edges: list[Statement] = []
        for edge in self.tile.edges(axis, tile):
            base = Axis(f"{axis.name}_e", axis.extent)
            position = TilePosition(number, base, edge.extent, edge.registers)
            edges.append(Branch(edge.runs, Let(base, index_value(edge.base), inside(position))))
        is_whole = binary("lt", number, axis.extent // tile)
        if not edges:
            return Branch(is_whole, whole) if is_ragged else whole
        last: Statement = Block(tuple(edges))
        if is_ragged:
            last = Branch(binary("lt", number, ceiling_quotient(axis.extent, tile)), last)
        return Branch(is_whole, whole, last)
