"""How far the tuning of one task has come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.task_result import TaskResult
from relay_tune.tuning.tasks import Task
from search import GeneticSearch, Genome, Score, SearchStrategy, Space

POPULATION = 48
GENERATIONS = 2
"""For each round: what is promising goes on evolving in the next one."""

RANKED_ATTEMPTS, FREE_ATTEMPTS = 4, 12
"""How often more genomes are asked for when some mean schedules that were measured before.

Genomes that mean the same schedule are rated the same: those of the best one come first, one after
the other. The later attempts go by no rating.
"""

PATIENCE = 4
"""So many rounds without gain, and a task rests for the first time."""

LEAST_SECONDS = 1e-12
"""No kernel takes less; a log of a stranger may say that one did."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A schedule with its outcome; `seconds` of correct ones only."""

    schedule: Schedule
    seconds: float | None
    confirmed: bool = False


@dataclass(eq=False, slots=True)
class TaskState:
    """A task, its search, and everything measured so far.

    Attributes:
        task: the task.
        space: its schedules.
        search: proposes schedules of the space.
        limit_seconds: what the machine can reach at most, if known.
        limit_name: what takes that time: `compute`, a cache, or `memory`.
        tried: outcomes by the JSON text of the schedule.
        outcomes: how often candidates of this run ended in each way.
        rounds: the best time after each round of this run.
        idle_rounds: rounds at the end that taught nothing.
        patience: after so many rounds without gain the task rests.
        resting: whether other tasks come first, as the last rounds gained nothing.
        finished: why no more candidates are worth measuring; empty if some are.
        was_measured: whether this run measured anything.
    """

    task: Task
    space: ProgramSpace
    search: SearchStrategy
    limit_seconds: float | None = None
    limit_name: str = ""
    tried: dict[str, Tried] = field(default_factory=dict)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    rounds: list[float | None] = field(default_factory=list)
    idle_rounds: int = 0
    patience: int = PATIENCE
    resting: bool = False
    finished: str = ""
    was_measured: bool = False

    @property
    def best(self) -> Tried | None:
        """The fastest correct schedule so far."""
        return min(
            (tried for tried in self.tried.values() if tried.seconds is not None),
            key=lambda tried: tried.seconds or 0.0,
            default=None,
        )

    @property
    def best_seconds(self) -> float | None:
        """The time of the fastest correct schedule."""
        best = self.best
        return None if best is None else best.seconds

    @property
    def default_tried(self) -> Tried | None:
        """The outcome of the default schedule, None before it was measured."""
        return self.tried.get(self.space.default.to_json())

    @property
    def model_seconds(self) -> float:
        """The time that the model spends in this task, 0 if not known."""
        return self.task.weight * (self.best_seconds or 0.0)

    @property
    def limit_share(self) -> float | None:
        """The best time as a share of what the machine can reach; above 1 if that is wrong."""
        best = self.best_seconds
        if best is None or self.limit_seconds is None:
            return None
        return self.limit_seconds / best

    def propose(self, count: int, score: Score) -> list[Schedule]:
        """Up to `count` schedules that were never measured; fewer when the space is exhausted."""
        found: dict[str, Schedule] = {}
        for ranked in [True] * RANKED_ATTEMPTS + [False] * FREE_ATTEMPTS:
            genomes = self.search.propose(count - len(found), score if ranked else None)
            for genome in genomes:
                self._sort(genome, found)
            if not genomes or len(found) == count:
                break
        return list(found.values())

    def _sort(self, genome: Genome, found: dict[str, Schedule]) -> None:
        """Enter a genome into `found` unless its schedule is known."""
        schedule = self.space.schedule(genome)
        text = schedule.to_json()
        if text in self.tried:
            self.search.tell(genome, runs_per_second(self.tried[text].seconds))
        else:
            found[text] = schedule

    def add(self, schedule: Schedule, outcome: Outcome, seconds: float | None) -> None:
        """Enter an outcome, of this run or of an earlier one."""
        time = seconds if outcome is Outcome.OK else None
        self.tried[schedule.to_json()] = Tried(schedule, time)
        self.outcomes[outcome] += 1
        genome = self.space.genome(schedule)
        if genome is not None:
            self.search.tell(genome, runs_per_second(time))

    def begin_anew(self, seed: int) -> None:
        """Search with other random choices from here on; what is known stays so."""
        self.search = new_search(self.space.space, seed)
        for tried in self.tried.values():
            genome = self.space.genome(tried.schedule)
            if genome is not None:
                self.search.tell(genome, runs_per_second(tried.seconds))

    def confirm(self, schedule: Schedule, measurement: Measurement) -> None:
        """Replace the time of a schedule by a more careful one."""
        time = measurement.seconds if measurement.outcome is Outcome.OK else None
        self.tried[schedule.to_json()] = Tried(schedule, time, confirmed=True)

    def result(self) -> TaskResult:
        """The state as a result."""
        default = self.default_tried
        return TaskResult(
            title=self.task.title,
            digest=self.task.key.digest,
            weight=self.task.weight,
            trials=len(self.tried),
            default_seconds=None if default is None else default.seconds,
            best_seconds=self.best_seconds,
            limit_seconds=self.limit_seconds,
            operations=self.task.operations,
            nodes=self.task.nodes,
            reason=self.finished,
        )


def new_state(task: Task, space: ProgramSpace, seed: int) -> TaskState:
    """The state of a task of which nothing is known."""
    defaults = [space.genome(schedule) for schedule in space.defaults]
    initial = [genome for genome in defaults if genome is not None]
    return TaskState(task, space, new_search(space.space, seed, initial))


def new_search(space: Space, seed: int, initial: Sequence[Genome] = ()) -> GeneticSearch:
    """The search as tuning uses it."""
    return GeneticSearch(
        space, seed, population=POPULATION, generations=GENERATIONS, initial=initial
    )


def runs_per_second(seconds: float | None) -> float | None:
    """Fitness of a measured time; None for a candidate without one."""
    return None if seconds is None else 1.0 / max(seconds, LEAST_SECONDS)
