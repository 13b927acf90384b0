"""What large tiles cost where weights are walked back and forth.

Weights that are used once or a few times in a call and outgrow the second cache are read in
alternating directions, tile by tile (decision 16): what was read last is found in the cache. The
tile that was read last is itself read from its beginning again, and pushes out that much.

Measured with a matrix of 3136x512 and a vector in a whole network, one core and two cores with 2 MB
of second cache each, microseconds of the network: tiles of 128 columns (1.6 MB) 323 and 169, of 64
310 and 163, of 32 311 and 155, of 14 columns along their depth (0.2 MB) 296 and 153.
"""

from __future__ import annotations

from relay_tune.machine.machine import Machine
from relay_tune.tensor.streamed import is_streamed


def swept_cycles(weights: float, in_tile: float, uses: float, machine: Machine) -> float:
    """Cycles that a tile's size costs in each call.

    Arguments: the bytes of all weights and of those of a tile, and how often each is used.
    """
    known = machine.coefficients
    near, far = (memory.rate for memory in machine.memories[1:3])
    if not is_streamed(uses) or weights <= known.swept_caches * machine.memories[1].bytes:
        return 0.0
    return known.swept_tile * in_tile * max(1 / far - 1 / near, 0.0)
