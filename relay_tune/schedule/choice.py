"""What is chosen for a nest."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.size import is_symbolic

_Places = tuple[int, ...]
_Around = tuple[int, int, _Places, _Places, _Places, _Places, int]


@dataclass(frozen=True, slots=True)
class TileChoice:
    """How a nest is tiled; positions count the nest's axes.

    Attributes:
        vector: the axis that runs along vector lanes; -1 for none, -2 for the lanes of the
            innermost reduction axis.
        lanes: elements of a vector.
        tile: the register tile's extent on each axis (elements; on the vector axis too).
        order: the outer loops, outermost first.
        blocks: on each axis, into how many blocks its tiles are divided; the loops over blocks are
            outside all loops over tiles.
        reduction_order: the reduction loops, outermost first.
        unroll: steps of the innermost reduction loops that are written out; with reduction lanes,
            the independent accumulators.
        parallel: how many of the outer loops, those over blocks included, are fused into the
            parallel one; 0 is one thread.
        prefetch: whether what the next tile, or the next part of a sum, reads is fetched early.
    """

    vector: int
    lanes: int
    tile: tuple[int, ...]
    order: tuple[int, ...]
    blocks: tuple[int, ...]
    reduction_order: tuple[int, ...]
    unroll: int
    parallel: int
    prefetch: bool = False

    def fetching(self) -> TileChoice:
        """The choice with what comes next fetched early.

        This and the next are what `dataclasses.replace` gives, in a fraction of its time.
        """
        return TileChoice(*self._around(), self.parallel, prefetch=True)

    def shared_by(self, loops: int) -> TileChoice:
        """The choice with so many outer loops fused into the parallel one."""
        return TileChoice(*self._around(), loops, self.prefetch)

    def _around(self) -> _Around:
        steps = self.reduction_order, self.unroll
        return self.vector, self.lanes, self.tile, self.order, self.blocks, *steps


def innermost(choice: TileChoice, tile: tuple[int, ...]) -> TileChoice:
    """What the body of a register tile depends on: all but the loops around it."""
    return TileChoice(
        choice.vector, choice.lanes, tile, (), (), choice.reduction_order, choice.unroll, 0
    )


def unrolled_extents(reduction: Sequence[Axis], unroll: int) -> dict[Axis, int]:
    """How many steps of each reduction axis are written out: all of the innermost ones first."""
    extents: dict[Axis, int] = {}
    for axis in reversed(reduction):
        is_open = is_symbolic(axis.extent)
        extents[axis] = unroll if is_open else max(1, min(axis.extent, unroll))
        unroll = unroll // axis.extent if extents[axis] == axis.extent else 1
    return extents
