"""What a model that is at hand thinks of schedules whose measurements are lost.

A model of another machine passes on what it knows: its predictions for schedules that are described
as that machine would run them stand beside what was measured here, and count less.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.searching.block_tasks import SEED, block_tasks
from benchmarks.searching.chosen_schedules import chosen_schedules
from benchmarks.searching.described_logs import Described
from cost_model import CostModel
from relay_tune.codegen.target import Target
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.schedule.features.program_features import estimated_throughput
from relay_tune.tuning.program_space import ProgramSpace


def opinions(model: Path, target: Target, threads: int = 1) -> list[Described]:
    """What a model thinks of schedules of the tasks of all blocks on a target."""
    known = CostModel(SEED, feature_names=FEATURE_NAMES)
    known.load(model)
    machine = target.machine
    found: list[Described] = []
    for task in block_tasks():
        space = ProgramSpace(task.plan, machine, threads)
        if not space.is_trivial:
            features = [list(space.features(schedule)) for schedule in chosen_schedules(space)]
            found.append(opinion(known, task.key.digest, features))
    return found


def opinion(known: CostModel, task: str, features: Sequence[list[float]]) -> Described:
    """Throughputs as shares of the best, as a model predicts them."""
    estimates = [estimated_throughput(row) for row in features]
    scores = known.predict(features, estimates)
    return Described(task, list(features), np.exp(scores - scores.max()).tolist())
