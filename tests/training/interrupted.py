"""A program that trains and saves after each step, until it is killed.

python -m tests.training.interrupted CHECKPOINT STEPS
"""

from __future__ import annotations

import sys
from pathlib import Path

import relay_tune as rt
from tests.training.network import batch, network, weights


def interrupted_step() -> rt.training.TrainingStep:
    """The step, before the first batch."""
    optimiser = rt.training.Adam(0.01)
    return rt.training.step(network(), "cross_entropy", optimiser, parameters=weights(), threads=1)


def train(path: Path, steps: int) -> None:
    """Go on from the checkpoint, if there is one; which batch is next follows from its number."""
    step = interrupted_step()
    if path.exists():
        step.load(path)
    while step.number < steps:
        step(*batch(step.number))
        step.save(path)
        print(step.number, flush=True)


if __name__ == "__main__":
    train(Path(sys.argv[1]), int(sys.argv[2]))
