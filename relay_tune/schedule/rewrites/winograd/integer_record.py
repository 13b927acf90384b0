"""Winograd's filtering of bytes as a record: exact, in products of pairs of int16.

    before:  y[n, h, w, o] = sum(kh, kw, c) int32(x[n, h + kh, w + kw, c]) * int32(g[kh, kw, c, o])
    after:   v[k, tile, c] = int16(B^T d B)                           of the window d of a tile
             t[k, tile, o] = sum(p) dot_s16s16(words(v)[k, tile, p], words(u)[k, o, p])
             y[n, h, w, o] = (A^T t A)[..] * f[..] >> s               divided exactly

The stages are those of floats (see `stages`), their products words of two (see `dot_products`). An
instruction adds half as many products of int16 as of bytes, or as many where bytes have none of
their own, and a tile of 4 x 4 results takes a fourth of them. Divisions want bits (see
`integer_transforms`): a convolution is filtered where its sums are known to leave them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import PAIRS
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters
from relay_tune.schedule.rewrites.dot_products.stages import word_program
from relay_tune.schedule.rewrites.winograd.blocks import tile_runs
from relay_tune.schedule.rewrites.winograd.match import Convolution, match_convolution
from relay_tune.schedule.rewrites.winograd.numbers import INTEGERS
from relay_tune.schedule.rewrites.winograd.record import (
    TILES,
    Tiles,
    blocks_of,
    in_blocks,
    is_in_runs,
)
from relay_tune.schedule.rewrites.winograd.stages import winograd_program
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import nominal

MOST_TAPS = 2 << 20
"""Bytes of the transformed taps of a layer that few tiles read.

They are eight times those of its own for 4 x 4, come from memory in each run, and make a library
large: the layers of resnet18 with 256 channels, 4.7 MB for 16 tiles, took 1.01 to 1.04 of the time
of direct ones in the network (one thread of Zen 4).
"""

FEW_TILES = 20
"""Fewer tiles than this are few.

Of 4.7 MB that no cache holds, 16 tiles take 1.22 of the time of direct sums, 25 tiles 0.81, and 64
0.75; of 19 MB 49 tiles take 0.70. Where a cache holds them, they take 0.75, 0.56, 0.63 and 0.70. A
tap comes from memory in 2 / rate cycles, and is multiplied in tiles / 64 (16 lanes of pairs, two
vectors in a cycle): with 16 tiles and 16 bytes in a cycle, the first is half of the second.
"""


def _offers(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    """The largest tiles that there are, in one block and in those that are worth a look."""
    constants = {tensor for tensor, _ in program.constants}
    stages = tensors_in_order(program.outputs)
    matched = (match_convolution(stage, INTEGERS) for stage in stages)
    found = [
        each for each in matched if each is not None and constants.issuperset(each.weight_tensors)
    ]
    tiles = (tile for tile in reversed(TILES) if any(each.filtering(tile) for each in found))
    tile = next(tiles, None)
    if tile is not None and all(_are_worth_it(each, tile) for each in found):
        yield Tiles(tile)
        yield from blocks_of(found, tile)


def _are_worth_it(convolution: Convolution, tile: int) -> bool:
    """Whether transformed taps are few, or read by many tiles; also where there are none."""
    filtering = convolution.filtering(tile)
    if filtering is None:
        return True
    taps = filtering.products * prod(convolution.taps_shape[2:])
    tiles = nominal(prod(tile_runs(convolution, filtering).counts))
    return taps * DTYPES[INTEGERS.transformed].itemsize <= MOST_TAPS or tiles >= FEW_TILES


def _rewritten(program: TensorProgram, parameters: Tiles) -> TensorProgram | None:
    in_runs = is_in_runs(parameters)
    tiles = parameters.block
    found = winograd_program(program, parameters.tile, tiles, in_runs=in_runs, numbers=INTEGERS)
    return None if found is None else word_program(found, PAIRS)


def _needs(machine: Machine) -> bool:
    return PAIRS.name in machine.dot_products


WINOGRAD_INTEGERS = Algorithm(
    "winograd_s16",
    _offers,
    Tiles,
    rewritten=_rewritten,
    is_ragged=is_in_runs,
    grouped=in_blocks,
    needs=_needs,
)
"""Convolutions of bytes with three taps by filtering of tiles, in blocks of tiles."""
