"""What a tile asks for while it computes.

That is its next panel, what its neighbours touch, and what it reads itself in the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relay_tune.schedule.loops.prefetch.epilogue_reads import EpilogueReads
from relay_tune.schedule.loops.prefetch.neighbours import TouchedRows, fetch_statements
from relay_tune.schedule.loops.prefetch.panels import PanelPrefetch, prefetch_statement
from relay_tune.schedule.loops.tile_points import TilePosition
from relay_tune.tensor.expression import INDEX, Axis, Scalar, literal
from relay_tune.tensor.loops import Statement
from relay_tune.tensor.size import is_symbolic


@dataclass(frozen=True, slots=True)
class TileFetches:
    """The fetches of a nest's tiles.

    Attributes:
        ahead: the panels of an operand that are fetched ahead, or None.
        beside: what other nests of the group touch.
        behind: what the tiles read behind their reduction, or None.
    """

    ahead: PanelPrefetch | None
    beside: tuple[TouchedRows, ...]
    behind: EpilogueReads | None

    def in_group(
        self, bindings: Mapping[Axis, TilePosition], tiles: Sequence[Axis], groups: Sequence[Axis]
    ) -> tuple[Statement, ...]:
        """What stands in front of a group of reduction steps.

        `tiles` are the loops over the tiles, `groups` those over groups of steps.
        """
        behind = () if self.behind is None else self.behind.in_group(bindings, groups)
        return (*self._panel(bindings, tiles, groups), *self._neighbours(tiles, groups), *behind)

    def _panel(
        self, bindings: Mapping[Axis, TilePosition], tiles: Sequence[Axis], groups: Sequence[Axis]
    ) -> tuple[Statement, ...]:
        if self.ahead is None:
            return ()
        panel = {axis: bindings[axis].number for axis, _ in self.ahead.panels.steps}
        readers = [tiles[place] for place in self.ahead.readers]
        return (prefetch_statement(self.ahead, panel, readers, groups),)

    def _neighbours(self, tiles: Sequence[Axis], groups: Sequence[Axis]) -> tuple[Statement, ...]:
        loops = (*tiles, *groups)
        if not self.beside or any(is_symbolic(loop.extent) for loop in loops):
            return ()
        turn: Scalar = literal(0, INDEX)
        turns = 1
        for loop in loops:
            turn = turn * loop.extent + loop
            turns *= loop.extent
        return fetch_statements(self.beside, turn, turns)
