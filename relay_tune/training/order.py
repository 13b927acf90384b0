"""`shuffled`: the order of samples, a function of a seed and of the numbers of steps alone.

    order = shuffled(samples=60_000, batch=64, steps=range(step.number, step.number + 937), seed=0)
    losses = step.run_many(images, labels, order=order)

An epoch is a permutation of all samples, cut into batches; what is left over is left out. Training
that goes on from a checkpoint sees the same batches as training that was not interrupted.
"""

from __future__ import annotations

import numpy as np

from relay_tune.arguments import whole_number
from relay_tune.errors import InputError


def shuffled(samples: int, batch: int, steps: range, seed: int = 0) -> np.ndarray:
    """The numbers of the samples of each step, int64 [steps, batch].

    Args:
        samples: how many there are.
        batch: how many make up a batch.
        steps: the numbers of the steps, which count from the first epoch on.
        seed: another one gives another order.

    Raises InputError where no epoch has a batch.
    """
    size = whole_number(batch, "batch", 1)
    in_epoch = whole_number(samples, "samples", 1) // size
    if not in_epoch:
        raise InputError(
            f"{samples} samples are fewer than a batch of {size}.", remedy="Give smaller batches."
        )
    epochs = {number // in_epoch for number in steps}
    orders = {each: _epoch(samples, each, seed) for each in epochs}
    rows = [orders[number // in_epoch][number % in_epoch * size :][:size] for number in steps]
    return np.asarray(rows, dtype=np.int64).reshape(len(rows), size)


def _epoch(samples: int, number: int, seed: int) -> np.ndarray:
    """The permutation of an epoch."""
    return np.random.default_rng([seed, number]).permutation(samples)
