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
from relay_tune.machine.pattern import PAIRS
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters
from relay_tune.schedule.rewrites.dot_products.stages import word_program
from relay_tune.schedule.rewrites.needs import multiplies
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

MOST_TAPS = 2 << 20
"""Bytes of the transformed taps of a layer, which are eight times those of its own for 4 x 4.

More come from memory in each run, and make a library large for nothing: the layers of resnet18 with
256 channels, 4.7 MB each, took 1.01 to 1.04 of the time of direct ones in the network (one thread
of Zen 4), and the network 1.01 and 0.99 with one and two threads without them.
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
    if tile is not None and all(_taps_bytes(each, tile) <= MOST_TAPS for each in found):
        yield Tiles(tile)
        yield from blocks_of(found, tile)


def _taps_bytes(convolution: Convolution, tile: int) -> int:
    """Those of the transformed taps for tiles of a size; 0 where it has none."""
    filtering = convolution.filtering(tile)
    products = 0 if filtering is None else filtering.products
    return products * prod(convolution.taps_shape[2:]) * DTYPES[INTEGERS.transformed].itemsize


def _rewritten(program: TensorProgram, parameters: Tiles) -> TensorProgram | None:
    in_runs = is_in_runs(parameters)
    tiles = parameters.block
    found = winograd_program(program, parameters.tile, tiles, in_runs=in_runs, numbers=INTEGERS)
    return None if found is None else word_program(found, PAIRS)


WINOGRAD_INTEGERS = Algorithm(
    "winograd_s16",
    _offers,
    Tiles,
    rewritten=_rewritten,
    is_ragged=is_in_runs,
    grouped=in_blocks,
    needs=multiplies(PAIRS),
)
"""Convolutions of bytes with three taps by filtering of tiles, in blocks of tiles."""
