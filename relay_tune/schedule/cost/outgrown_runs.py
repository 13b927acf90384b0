"""Data of the second cache come slower where tiles under a sliding window read them in bad order.

The innermost loop around the tiles walks along the channels, and each point of the tile and of its
surroundings is a row of lines of its own:

    tiles of 4 x 7 points, stride 2, 560 channels: 9 * 15 rows of 35 lines, 302 KB in one run
    the same in blocks of 3 vectors of channels:   9 * 15 rows of 3 lines, 26 KB in one run

The first needs every line once, as the second does, and still waits longer for them: lines that the
processor fetches ahead push out others. Where a loop over the rows of the window is left, each load
of its body strides from row to row instead of along the channels, and what is fetched ahead of it
is of no use.
"""

from __future__ import annotations

from math import log2

from relay_tune.machine.machine import Machine

OUTGROWN_SHARE = 0.5
"""Of the first cache; runs that touch more are slower."""

OUTGROWN_RUN, MOST_DOUBLINGS = 0.55, 2.0
"""How much slower, for each time that a run touches twice as much, and how often that counts.

Measured on a Zen 5 server with 20 depthwise convolutions (32 to 1152 channels), 110 to 260
schedules of each: the two with the best estimates took 1.23 times as long as the three fastest
without this and the wait of a tile below, 1.13 times with them; 1.9 and 1.1 where the stride is 2
(560 channels to 7x7: 5.5 us, and 3.2 to 3.7 in blocks).
"""

ROLLED_WINDOW = 0.5
"""How much slower where a loop over the window is left.

Measured there with 560 and 576 channels to 7x7, tiles of 2x4 points, two vectors: 3.1 us written
out, 4.2 to 5.5 with a loop over three rows.
"""

TILE_WAIT = 2.5
"""Cycles that each tile waits for its first lines, from the same measurements."""


def outgrown_factor(run_bytes: float, all_bytes: float, rolled: bool, machine: Machine) -> float:
    """How much slower data come from the second cache, 1 or more.

    `run_bytes` are what one run of tiles touches, `all_bytes` what the nest reads and writes:
    where that is up to twice as much as the
    second cache, a part of it is there, and slower transfers of the rest hide this.
    """
    near, second = (memory.bytes for memory in machine.memories[:2])
    kept = min(max(3.0 - 1.5 * all_bytes / second, 0.0), 1.0)
    doublings = log2(max(run_bytes / (OUTGROWN_SHARE * near), 1.0))
    slower = OUTGROWN_RUN * min(doublings, MOST_DOUBLINGS) + ROLLED_WINDOW * rolled
    return 1.0 + kept * slower
