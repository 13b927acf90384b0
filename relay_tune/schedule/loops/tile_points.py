"""Where register tiles and their points stand."""

from __future__ import annotations

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.loops.packed_loads import PackedLoad
from relay_tune.tensor.expression import Axis, Scalar


@dataclass(frozen=True, slots=True)
class TilePosition:
    """Where a tile stands on an axis: its number, its first element, its extent.

    `registers` says how many registers of an intrinsic hold rows whose number only a run knows; 0
    where they are not even one.
    """

    number: Scalar
    base: Scalar
    extent: int
    registers: int = 0


@dataclass(frozen=True, slots=True)
class Point:
    """A point (or vector of points) of a register tile.

    Attributes:
        bindings: where the tile stands.
        inner: the positions in the tile on all axes but the vector axis.
        values: what the nest's axes are there.
        cell: the index of its accumulator.
        place: its position in the tile along the vector axis.
    """

    bindings: dict[Axis, TilePosition]
    inner: dict[Axis, Axis]
    values: dict[Axis, Scalar]
    cell: tuple[Scalar, ...]
    place: Scalar | None

    def packed(self, load: PackedLoad) -> Scalar:
        """The element of a packed constant at this point."""
        numbers = [self.bindings[axis].number for axis in load.tiled]
        inside: list[Scalar] = [self.inner[a] for a in load.tiled if a in self.inner]
        if len(inside) < len(load.tiled):  # the last one is the vector axis
            assert self.place is not None
            inside.append(self.place)
        return load.constant.tensor[(*numbers, *load.plain, *inside)]
