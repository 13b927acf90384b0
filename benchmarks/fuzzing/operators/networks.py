"""Random networks of 4 to 20 nodes over all steps; equal seeds give equal networks."""

from __future__ import annotations

import numpy as np

from benchmarks.fuzzing.builder import RandomNetwork
from benchmarks.fuzzing.operators import elementwise, layers, movement
from benchmarks.fuzzing.operators.growing import Growing, grow

STEPS = (*elementwise.STEPS, *movement.STEPS, *layers.STEPS)
OPSETS = (18, 21, 23, 24)


def operator_network(seed: int) -> RandomNetwork:
    """The network of a seed."""
    random = np.random.default_rng([seed, *b"operators"])
    net = Growing(random, int(random.choice(OPSETS)))
    grow(net, STEPS, net.integer(4, 16))
    return net.finish("operators", seed)
