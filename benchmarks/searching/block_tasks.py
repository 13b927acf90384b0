"""The tasks that the cost model which ships is trained on: those of random blocks of networks."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.searching.random_blocks import random_block
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.tasks import Task, extract_tasks

SEED = 0
BLOCKS = 144

LEAST_BYTES = 100_000
"""Kernels that move less are over before a clock can tell schedules apart."""


def block_tasks(first: int = 0) -> Iterator[Task]:
    """The distinct tasks of all blocks from a number on, each made when it is asked for."""
    found: set[str] = set()
    for number in range(first, BLOCKS):
        for task in extract_tasks(default_pipeline()(random_block(SEED, number))):
            if task.bytes >= LEAST_BYTES and task.key.digest not in found:
                found.add(task.key.digest)
                yield task
