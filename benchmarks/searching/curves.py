"""How the time of a network falls while it is tuned: with the cost model, without, at random.

    python -m benchmarks.searching.curves tune zoo:resnet18 --strategy model --seconds 60
    python -m benchmarks.searching.curves tune zoo:resnet18 --strategy random --seconds 60
    python -m benchmarks.searching.curves report curves/*.json
    python -m benchmarks.searching.picture curves/*.json -o curves.svg

`tune` tunes a network from an empty log. The strategies differ only in what they propose: `model`
is what `tune run` does, `genetic` gets no predictions, `random` draws uniformly. Each starts with
the default schedules and spends its trials where they save most. A curve holds, for each trial, the
seconds since the program began and the sum over the network of the best times so far. The log stays
beside the curve, so that networks can be built from two of them and timed in turn.

`report` says when each curve came within a share of the best that any curve of its network found.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from relay_tune.building.program_form import fused_module
from relay_tune.cli.model_file import load_model, stem
from relay_tune.codegen.target import native_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.errors import InputError
from relay_tune.runtime.target_machine import machine_of
from relay_tune.runtime.threads import thread_count
from relay_tune.tuning.budget import make_budget
from relay_tune.tuning.events import Event, Measured
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.options import TuningOptions
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.run import TuningRun
from relay_tune.tuning.runner import NativeRunner
from relay_tune.tuning.scope import TuningScope
from relay_tune.tuning.session import Session
from relay_tune.tuning.task_state import TaskState, new_state
from relay_tune.tuning.tasks import Task, extract_tasks, network_bytes
from relay_tune.typing.infer import infer_types
from search import Genome, RandomSearch, Score, SearchStrategy

STRATEGIES = ("model", "genetic", "random")
NEAR = 0.05


@dataclass(frozen=True, slots=True)
class Curve:
    """One tuning run of a network.

    Attributes:
        network: its name.
        strategy: what proposed candidates.
        seed: of the run.
        threads: that the kernels ran on.
        points: for each trial the seconds since the program began, and of the network's kernels.
    """

    network: str
    strategy: str
    seed: int
    threads: int
    points: tuple[tuple[float, float], ...]

    @property
    def best(self) -> float:
        """The least time of the network's kernels, in seconds."""
        return min(network for _, network in self.points)

    def reached(self, network: float) -> tuple[int, float] | None:
        """The trial, counted from 1, and the second at which the network was so fast."""
        for trial, (second, found) in enumerate(self.points, 1):
            if found <= network:
                return trial, second
        return None


class Unscored:
    """A search that gets no predictions."""

    def __init__(self, search: SearchStrategy) -> None:
        self._search = search

    def propose(self, count: int, score: Score | None = None) -> list[Genome]:
        """See `SearchStrategy.propose`."""
        return self._search.propose(count)

    def tell(self, genome: Genome, value: float | None) -> None:
        """See `SearchStrategy.tell`."""
        self._search.tell(genome, value)

    @property
    def best(self) -> tuple[Genome, float] | None:
        """See `SearchStrategy.best`."""
        return self._search.best


def tuned_curve(
    model: str, strategy: str, seconds: float, threads: int, seed: int, log: Path
) -> Curve:
    """Tune a model from an empty log with a strategy, for so many seconds.

    The curve's seconds begin before the model is read.
    """
    begin = perf_counter()
    target = native_target()
    tasks = extract_tasks(fused_module(infer_types(load_model(model))))
    touched = network_bytes(tasks, target)
    machine = machine_of(target)
    spaces = [(task, ProgramSpace(task.plan, machine, threads)) for task in tasks]
    states = [
        searching(task, space, strategy, seed) for task, space in spaces if not space.is_trivial
    ]
    points: list[tuple[float, float]] = []

    def note(event: Event) -> None:
        if isinstance(event, Measured) and event.model_seconds is not None:
            points.append((perf_counter() - begin, event.model_seconds))

    log.unlink(missing_ok=True)
    keeper = LogKeeper(log, TuningScope(target.key, threads, CODE_VERSION))
    runner = NativeRunner(target, threads, seed, network_bytes=lambda: touched)
    budget = make_budget(None, seconds / 60, len(tasks))
    try:
        session = Session(states, runner, keeper, budget, note)
        TuningRun(session, TuningOptions(seed=seed), 0.0).run()
    finally:
        runner.close()
        keeper.close()
    if not points:
        raise InputError(
            f"{seconds:g} seconds are too few to measure every kernel of {model} once."
        )
    return Curve(stem(model), strategy, seed, threads, tuple(points))


def searching(task: Task, space: ProgramSpace, strategy: str, seed: int) -> TaskState:
    """The state of a task that a strategy searches."""
    state = new_state(task, space, seed)
    match strategy:
        case "genetic":
            state.search = Unscored(state.search)
        case "random":
            state.search = RandomSearch(space.space, seed)
    return state


def read_curve(path: Path) -> Curve:
    """A curve from its file."""
    fields = json.loads(path.read_text(encoding="utf-8"))
    points = tuple((float(second), float(network)) for second, network in fields.pop("points"))
    return Curve(points=points, **fields)


def report(curves: Sequence[Curve]) -> None:
    """Print when each curve came near the best of its network."""
    print("| network | strategy | seed | threads | trials | first ms | best ms | within 5 % |")
    print("|---|---|---|---|---|---|---|---|")
    for curve in curves:
        others = [c for c in curves if (c.network, c.threads) == (curve.network, curve.threads)]
        near = curve.reached((1 + NEAR) * min(other.best for other in others))
        when = "never" if near is None else f"trial {near[0]}, {near[1]:.0f} s"
        print(
            f"| {curve.network} | {curve.strategy} | {curve.seed} | {curve.threads} "
            f"| {len(curve.points)} | {curve.points[0][1] * 1e3:.2f} | {curve.best * 1e3:.2f} "
            f"| {when} |"
        )


def main() -> None:
    """Parse the command line; tune, or report."""
    parser = argparse.ArgumentParser(description="Time to quality of the search strategies.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    tuning = verbs.add_parser("tune", help="tune a network from an empty log")
    tuning.add_argument("model")
    tuning.add_argument("--strategy", choices=STRATEGIES, default="model")
    tuning.add_argument("--seconds", type=float, default=60.0)
    tuning.add_argument("--threads", type=int)
    tuning.add_argument("--seed", type=int, default=0)
    tuning.add_argument("--folder", type=Path, default=Path("curves"))
    reporting = verbs.add_parser("report", help="when each curve came near the best")
    reporting.add_argument("curves", nargs="+", type=Path)
    options = parser.parse_args()
    if options.verb == "report":
        report([read_curve(path) for path in options.curves])
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    name = f"{stem(options.model)}-{options.strategy}-{options.seed}"
    curve = tuned_curve(
        options.model,
        options.strategy,
        options.seconds,
        thread_count(options.threads),
        options.seed,
        options.folder / f"{name}.db",
    )
    path = options.folder / f"{name}.json"
    path.write_text(json.dumps(asdict(curve)), encoding="utf-8")
    report([curve])


if __name__ == "__main__":
    main()
