"""The schedules that a task proposes."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from relay_tune.codegen.target import Target
from relay_tune.runtime.measuring.measurement import Outcome
from relay_tune.runtime.target_machine import machine_of
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.task_state import new_state
from relay_tune.tuning.tasks import Task
from search import Genome, Score


class Stubborn:
    """Proposes what is rated best, which was measured already, or without a rating another one."""

    best: tuple[Genome, float] | None = None

    def __init__(self, known: Genome, other: Genome) -> None:
        self.known, self.other = known, other

    def propose(self, count: int, score: Score | None = None) -> list[Genome]:
        return [self.other if score is None else self.known]

    def tell(self, genome: Genome, value: float | None) -> None:
        pass


def test_genomes_that_mean_a_measured_schedule_do_not_end_a_search(
    tasks: list[Task], target: Target
) -> None:
    space = ProgramSpace(tasks[0].plan, machine_of(target), 1)
    default = space.default
    known, random = space.genome(default), Random(0)
    assert known is not None
    drawn = (space.space.random(random) for _ in range(50))
    other = next(g for g in drawn if g is not None and space.schedule(g) != default)
    state = replace(new_state(tasks[0], space, 0), search=Stubborn(known, other))
    state.add(default, Outcome.OK, 1e-3)
    (proposed,) = state.propose(1, lambda genomes: [0.0 for _ in genomes])
    assert proposed == space.schedule(other)
