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


def outgrown_factor(run_bytes: float, all_bytes: float, rolled: bool, machine: Machine) -> float:
    """How much slower data come from the second cache, 1 or more.

    `run_bytes` are what one run of tiles touches, `all_bytes` what the nest reads and writes:
    where that is up to twice as much as the
    second cache, a part of it is there, and slower transfers of the rest hide this.
    """
    known = machine.coefficients
    near, second = (memory.bytes for memory in machine.memories[:2])
    kept = min(max(known.kept_in_second - known.kept_in_second_fall * all_bytes / second, 0.0), 1.0)
    doublings = log2(max(run_bytes / (known.outgrown_share * near), 1.0))
    slower = known.outgrown_run * min(doublings, known.outgrown_doublings)
    slower += known.rolled_window * rolled
    return 1.0 + kept * slower
