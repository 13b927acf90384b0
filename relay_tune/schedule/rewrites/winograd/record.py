"""Winograd's filtering as a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy, Exactness, Mixing, Rounding
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters, parameter
from relay_tune.schedule.rewrites.winograd.adjoint import match_taps_adjoint
from relay_tune.schedule.rewrites.winograd.blocks import is_far, run_lengths, tile_counts
from relay_tune.schedule.rewrites.winograd.cost import passing_cycles
from relay_tune.schedule.rewrites.winograd.match import Convolution
from relay_tune.schedule.rewrites.winograd.match_phases import match_filtered
from relay_tune.schedule.rewrites.winograd.stages import winograd_program
from relay_tune.schedule.rewrites.winograd.transforms import PlaneFiltering
from relay_tune.schedule.row_groups.grouped_steps import grouped_steps
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES, RowBlocks
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram

TILES = (2, 4)
"""Extents of output tiles. F(2x2, 3x3) rounds as direct sums do, F(4x4, 3x3) two to three times as
much (decision 183)."""


@dataclass(frozen=True, slots=True)
class Tiles(Parameters):
    """Parameters of winograd.

    Attributes:
        tile: how many results it has along each dimension.
        block: the tiles of a block; None for one block of all tiles.
        run: the tiles of a run, where all lie one after the other; None if they lie in blocks.
    """

    tile: int = parameter(among=TILES)
    block: int | None = parameter(among=range(1, 10_000), default=None, orders_sums=False)
    run: int | None = parameter(among=range(1, 10_000), default=None, orders_sums=False)


def _offers(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    """Tiles of each size in one block, then the blocks that are worth a look.

    One block of all tiles is none where these are too many and there are others.
    """
    stages = tensors_in_order(program.outputs)
    convolutions = [each for each in map(match_filtered, stages) if each is not None]
    adjoints = [each for each in map(match_taps_adjoint, stages) if each is not None]
    filtered = [*convolutions, *(each.convolution for each in adjoints)]
    blocks: list[Tiles] = []
    for tile in TILES:
        is_whole = any(each.filtering(tile) for each in filtered)
        if is_whole and not _are_far(convolutions, tile):
            yield Tiles(tile)
        blocks += blocks_of(convolutions, tile)
    yield from blocks


def _are_far(convolutions: Sequence[Convolution], tile: int) -> bool:
    """Whether the tiles of each convolution are too many for one block, and there are others.

    Or they have runs, all of them: what has none is better off in one block.
    """
    usable = _usable(convolutions, tile)
    if not usable or not all(is_far(*pair) for pair in usable):
        return False
    divided = any(tile_counts(*pair) for pair in usable)
    return divided or all(run_lengths(*pair) for pair in usable)


def blocks_of(convolutions: Sequence[Convolution], tile: int) -> Iterator[Tiles]:
    """The blocks of tiles of a size that are worth a look for some convolutions."""
    usable = _usable(convolutions, tile)
    counts = {count for pair in usable for count in tile_counts(*pair)}
    yield from (Tiles(tile, count) for count in sorted(counts))
    runs = {count for pair in usable for count in run_lengths(*pair)}
    yield from (Tiles(tile, run=count) for count in sorted(runs))


def _usable(
    convolutions: Sequence[Convolution], tile: int
) -> list[tuple[Convolution, PlaneFiltering]]:
    """Those that have tiles of a size, with their transforms."""
    filterings = ((each, each.filtering(tile)) for each in convolutions)
    return [(each, filtering) for each, filtering in filterings if filtering is not None]


def _rewritten(program: TensorProgram, parameters: Tiles) -> TensorProgram | None:
    in_runs = is_in_runs(parameters)
    return winograd_program(program, parameters.tile, parameters.block, in_runs=in_runs)


def in_blocks(
    nests: Sequence[Step], outputs: Sequence[Tensor], parameters: Tiles
) -> Sequence[Step | RowBlocks]:
    """The nests of blocks of tiles together, as `Algorithm.grouped` has it."""
    if parameters.run is not None:
        rows = parameters.run
        most = MAXIMUM_LOCAL_BYTES // rows
        return grouped_steps(nests, outputs, rows, most_row_bytes=most, in_runs=True)
    if parameters.block is None:
        return nests
    return grouped_steps(nests, outputs, 1, most_row_bytes=MAXIMUM_LOCAL_BYTES)


def is_in_runs(parameters: Tiles) -> bool:
    """Whether tiles lie one after the other, whole ones or not."""
    return parameters.run is not None


def _exactness(parameters: Tiles) -> Exactness:
    rounding = Rounding.OF_SUMS if parameters.tile == min(TILES) else Rounding.MORE
    return Exactness(Mixing.TILE, rounding)


WINOGRAD = Algorithm(
    "winograd",
    _offers,
    Tiles,
    exactness=Exactness(Mixing.TILE),
    exactness_of=_exactness,
    rewritten=_rewritten,
    is_ragged=is_in_runs,
    grouped=in_blocks,
    fixed_cycles=passing_cycles,
    saving=4.0,  # twice along each dimension: 6 products for 4 results of 3 taps
)
"""Convolutions of three taps by filtering of tiles, in blocks of tiles."""
