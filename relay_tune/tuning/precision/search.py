"""The search: propose, simulate, build, measure, learn, as long as there is time.

A genetic search (`search`) evolves choices under two models that learn from all that was seen: one
of the time, one of the loss. The most promising ones are simulated, which tells their loss without
a build; of those within the bound a few are built and timed in turns with float32. At the end the
best ones, all layers in integers, and the greedy choice are timed once more, longer and together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from math import hypot, isfinite
from statistics import median

from relay_tune.quantization.choose import worst_first
from relay_tune.quantization.precisions import (
    BFLOAT16,
    FLOAT32,
    INT7,
    Precisions,
    layers_in,
)
from relay_tune.quick_dataclass import dataclass
from relay_tune.time_limit import TimeIsOver, time_limit
from relay_tune.tuning.precision.choice import PrecisionSpace
from relay_tune.tuning.precision.ladder import by_loss_for_time, highest_rung, rung
from relay_tune.tuning.precision.pair_model import Belief, PairModel
from relay_tune.tuning.precision.trials import Measured, Trials
from search import GeneticSearch, Genome

TURNS, LAST_TURNS = 6, 15
"""Turns of a choice beside float32: when it is new, and when it may be the result."""

PROPOSED, SIMULATED, BUILT = 48, 12, 4
"""Choices of a round: proposed by the genetic search, simulated and built at most."""

TURN_SECONDS, TURN_CALLS = 0.1, 5
"""Approximate length of a turn: seconds, and calls."""

MOST_BUILD_SECONDS = 3.0
"""Expected time of a choice at most, once its kernels are known from others."""

LAST = 3
"""The choices that are timed once more at the end."""

PATIENCE = 5
"""Rounds without a better choice, after which nothing is left that promises more."""

BETTER = 0.002
"""The part of the time of float32 by which a choice has to be better than the best."""

TIME_NOISE, LOSS_NOISE = 0.01, 0.05
"""The deviations of a ratio and of a squared loss from what pairs explain, besides disturbance."""

SAVED, UNSURE = 0.5, 0.5
"""Prior of the share of a layer's time that fewer bits save: mean and standard deviation."""

LOSSES: Mapping[str, float] = {BFLOAT16: 0.2, INT7: 1.5}
"""Prior of the losses of other precisions, as a part of that of the most exact integers."""

LEAST_SHARE = 0.005
"""The part of the time that any layer may make a difference of."""

OPTIMISM = 0.5
"""Deviations by which a choice may turn out faster than predicted, so that it is tried."""

BEYOND = 10.0
"""Penalty of a predicted loss beyond the bound, squared and as a part of it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A search for precisions.

    Attributes:
        space: the precisions of each layer.
        pairs: names of layers of which the second reads what the first has computed.
        shares: the part of each layer in the multiplications of all.
        alone: the loss where a layer alone is in integers.
        bound: the largest loss that is allowed.
    """

    space: PrecisionSpace
    pairs: Sequence[tuple[str, str]]
    shares: Mapping[str, float]
    alone: Mapping[str, float]
    bound: float


@dataclass(slots=True)
class Found:
    """Results of a search.

    Attributes:
        best: the fastest choice within the bound.
        named: all layers in each other precision, and the greedy choice, which leaves those in
            float32 that hurt most.
        measured: the choices that were built, by genome; the latest measurement of each.
        saved: the time that integers save for each layer by itself, as a part of that of float32.
        interrupted: by Ctrl-C.
        exhausted: nothing is left that promises more.
    """

    best: dict[str, str]
    named: dict[str, dict[str, str]] = field(default_factory=dict)
    measured: dict[Genome, Measured] = field(default_factory=dict)
    saved: dict[str, float] = field(default_factory=dict)
    interrupted: bool = False
    exhausted: bool = False


class PrecisionSearch:
    """One search; `run` does it."""

    def __init__(
        self,
        problem: Problem,
        trials: Trials,
        seconds: float,
        seed: int,
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._problem = problem
        self._trials = trials
        self._report = report
        self._clock = clock
        self._end = clock() + seconds
        self._space = problem.space
        self._genetic = GeneticSearch(self._space.space(), seed, exploration=0.1)
        beliefs = time_beliefs(problem.shares, self._space)
        self._times = PairModel(self._space, problem.pairs, beliefs, 1.0)
        self._losses = PairModel(self._space, problem.pairs, _loss_beliefs(problem), 0.0)
        self._pending: dict[Genome, None] = {}
        self._simulated: dict[Genome, float] = {}
        self._found = Found(self._space.precisions(self._origin))
        self._build_seconds = MOST_BUILD_SECONDS
        self._excess = 1.0
        self._last: set[Genome] | None = None

    @property
    def _origin(self) -> Genome:
        return self._space.genome({})

    def run(self) -> Found:
        """Search until the time is over, nothing promises more, or Ctrl-C.

        What the result is compared with is measured however little time there is.
        """
        found = self._found
        try:
            self._begin()
            with time_limit(self._end - self._clock()):
                found.exhausted = self._rounds()
                self._confirm()
        except KeyboardInterrupt:
            found.interrupted = True
        except TimeIsOver:
            pass
        found.best = self._space.precisions(self._fastest())
        found.saved = self._saved()
        return found

    def _begin(self) -> None:
        """All layers in one precision, the greedy choice, and the one by loss for time."""
        problem, space = self._problem, self._space
        worst, by_time = worst_first(problem.alone), self._by_time()
        named = {space.integers: self._all_in(space.integers), "greedy": self._greedy(worst)}
        others = [each for each in space.offered if each != space.integers]
        named |= {each: self._all_in(each) for each in others}
        self._found.named = {**named, "by loss for time": self._rung(by_time)}
        self._measure([space.genome(each) for each in self._found.named.values()])
        greedy = space.genome(self._found.named["greedy"])
        if self._excess > 1 and greedy not in self._kept():  # simulated it was within the bound
            self._found.named["greedy"] = self._greedy(worst)
            self._measure([space.genome(self._found.named["greedy"])])

    def _rounds(self) -> bool:
        """Whether nothing is left that promises more; False where the time is over."""
        waited, best = 0, self._ratio(self._fastest())
        while waited < PATIENCE:
            if not self._enough_time():
                return False
            batch = self._batch()
            if not batch:
                return True
            self._measure(batch)
            now = self._ratio(self._fastest())
            waited = 0 if now < best - BETTER else waited + 1
            best = min(best, now)
        return True

    def _batch(self) -> list[Genome]:
        """The most promising choices that are within the bound as simulated."""
        ladder = self._space.genome(self._rung(self._by_time()))
        proposed = [ladder, *self._genetic.propose(PROPOSED, self._score)]
        measured = self._found.measured
        self._pending.update({each: None for each in proposed if each not in measured})
        self._pending.pop(self._origin, None)
        pending = list(self._pending)
        worth = dict(zip(pending, self._score(pending), strict=True)) if pending else {}
        batch: list[Genome] = []
        for genome in sorted(pending, key=lambda each: -worth[each])[:SIMULATED]:
            del self._pending[genome]
            if self._loss(genome) * self._excess <= self._problem.bound:
                batch.append(genome)
            if len(batch) == BUILT:
                break
        return batch or self._batch_of_rest()

    def _batch_of_rest(self) -> list[Genome]:
        """The next remaining choice where none of the most promising ones was within the bound."""
        while self._pending and self._clock() < self._end:
            genome = next(iter(self._pending))
            del self._pending[genome]
            if self._loss(genome) * self._excess <= self._problem.bound:
                return [genome]
        return []

    def _measure(self, genomes: Sequence[Genome], turns: int = TURNS) -> None:
        """Build choices, learn from them, and say what the best is."""
        wanted = [each for each in dict.fromkeys(genomes) if each != self._origin]
        if not wanted:
            return
        began = self._clock()
        choices = [self._space.precisions(each) for each in wanted]
        for genome, found in zip(wanted, self._trials.measured(choices, turns), strict=True):
            self._found.measured[genome] = found
            noise = hypot(TIME_NOISE, found.noise)
            self._times.learn(genome, found.ratio, noise)
            is_kept = found.loss <= self._problem.bound
            self._genetic.tell(genome, -found.ratio if is_kept else None)
        self._learn_excess()
        each = (self._clock() - began) / len(wanted)
        self._build_seconds = min(each, MOST_BUILD_SECONDS, self._build_seconds)
        self._report(self._line())

    def _learn_excess(self) -> None:
        """By what the loss of builds is above that of the simulation, which rounds less."""
        pairs = [(self._simulated.get(g), m.loss) for g, m in self._found.measured.items()]
        factors = [built / loss for loss, built in pairs if loss and isfinite(built / loss)]
        self._excess = max(1.0, median(factors)) if factors else 1.0

    def _confirm(self) -> None:
        """Time the best ones once more, with what they are compared with.

        Others are out then: what was measured shorter may have been lucky.
        """
        ranked = sorted(self._kept(), key=self._ratio)
        last = [*ranked[:LAST], *map(self._space.genome, self._found.named.values())]
        self._measure(last, LAST_TURNS)
        self._last = set(last)

    def _fastest(self) -> Genome:
        return min([self._origin, *self._kept()], key=self._ratio)

    def _kept(self) -> list[Genome]:
        """The choices that were built and are within the bound."""
        measured = self._found.measured
        within = [each for each, found in measured.items() if found.loss <= self._problem.bound]
        return within if self._last is None else [each for each in within if each in self._last]

    def _ratio(self, genome: Genome) -> float:
        return 1.0 if genome == self._origin else self._found.measured[genome].ratio

    def _score(self, genomes: Sequence[Genome]) -> list[float]:
        """Score choices by their promise: little time, and no loss beyond the bound."""
        ratios, deviations = self._times.predict(genomes)
        losses, _ = self._losses.predict(genomes)
        beyond = (losses * self._excess**2 - 1.0).clip(0.0)
        return [float(each) for each in -ratios + OPTIMISM * deviations - BEYOND * beyond]

    def _loss(self, genome: Genome) -> float:
        """The simulated loss, which the model learns from; a failure of a choice is told."""
        if genome not in self._simulated:
            loss = self._trials.simulated_loss(self._space.precisions(genome))
            self._simulated[genome] = loss
            cost = (loss / self._problem.bound) ** 2
            if isfinite(cost):
                self._losses.learn(genome, cost, LOSS_NOISE * (0.1 + cost))
            if not loss <= self._problem.bound:
                self._genetic.tell(genome, None)
        return self._simulated[genome]

    def _all_in(self, precision: str) -> dict[str, str]:
        return dict.fromkeys(self._space.options, precision)

    def _greedy(self, worst: Sequence[str]) -> dict[str, str]:
        """What somebody would choose by hand: integers, and the worst layers in float32."""
        bound, integers = self._problem.bound, self._space.integers
        return rung(self._space, worst, bound, self._expected, FLOAT32, integers)

    def _rung(self, order: Sequence[str]) -> dict[str, str]:
        return highest_rung(self._space, order, self._problem.bound, self._expected)

    def _expected(self, precisions: Precisions) -> float:
        """The loss that a choice is expected to have when it is built."""
        return self._loss(self._space.genome(precisions)) * self._excess

    def _by_time(self) -> list[str]:
        return by_loss_for_time(self._problem.alone, self._saved())

    def _saved(self) -> dict[str, float]:
        """The time that integers are believed to save for each layer."""
        integers = self._space.integers
        return {each: -self._times.alone(each, integers) for each in self._problem.alone}

    def _enough_time(self) -> bool:
        """Whether a round is likely to end before the last choices have to be timed."""
        slowest = max(each.seconds for each in self._found.measured.values())
        timing = LAST_TURNS * (TURN_SECONDS + TURN_CALLS * slowest)
        last = (LAST + len(self._found.named)) * (timing + self._build_seconds)
        return self._clock() + last + BUILT * self._build_seconds < self._end

    def _line(self) -> str:
        genome = self._fastest()
        precisions = self._space.precisions(genome)
        loss = 0.0 if genome == self._origin else self._found.measured[genome].loss
        numbers = [
            f"{len(layers_in(precisions, each))} of {len(precisions)} layers in {each}"
            if each == self._space.integers
            else f"{len(layers_in(precisions, each))} in {each}"
            for each in sorted(self._space.offered, key=lambda each: each != self._space.integers)
        ]
        return (
            f"{len(self._found.measured)} built, best {self._ratio(genome):.3f} of the time of "
            f"float32, loss {loss:.3g}, {', '.join(numbers)}"
        )


def time_beliefs(
    shares: Mapping[str, float], space: PrecisionSpace
) -> dict[tuple[str, str], Belief]:
    """Prior of the change of time by each precision, by each layer's share of it."""
    return {
        (layer, each): Belief(-SAVED * share, UNSURE * share + LEAST_SHARE)
        for layer, share in shares.items()
        for each in space.options[layer][1:]
    }


def _loss_beliefs(problem: Problem) -> dict[tuple[str, str], Belief]:
    """Errors of layers add up as independent ones; a loss that is no number excludes a layer."""
    found: dict[tuple[str, str], Belief] = {}
    for layer, alone in problem.alone.items():
        for each in problem.space.options[layer][1:]:
            loss = alone if each == problem.space.integers else alone * LOSSES[each]
            part = min(loss / problem.bound, BEYOND) ** 2 if isfinite(loss) else BEYOND**2
            found[layer, each] = Belief(part, part + LEAST_SHARE)
    return found
