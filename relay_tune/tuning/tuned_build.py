"""`build` with the best schedules of a tuning log."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from relay_tune.arguments import path_argument
from relay_tune.building.build import Report
from relay_tune.building.build import build as build_model
from relay_tune.building.chosen_passes import ChosenPasses
from relay_tune.building.default_schedules import DefaultSchedules
from relay_tune.building.input_sizes import InputSizes
from relay_tune.building.recomputation.limit import MemoryLimit
from relay_tune.building.size_cases import USUAL_SIZES
from relay_tune.codegen.target import Target, target_argument
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.ir.module import Module
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.describe import counted
from relay_tune.runtime.model import Model
from relay_tune.runtime.target_machine import machine_of
from relay_tune.runtime.threads import thread_count
from relay_tune.schedule.accuracy import Accuracy, parse_accuracy
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import Schedule
from relay_tune.transform.pipeline import Pipeline
from relay_tune.tuning.schedule_lookup import ScheduleLookup, schedule_lookup


@dataclass(slots=True)
class Coverage:
    """How much of a model the log knew.

    Attributes:
        tuned: the titles of the primitives with a schedule from the log.
        untuned: the titles of those that got the default schedule.
        skipped: why records were passed over, and how many for each reason.
    """

    tuned: list[str] = field(default_factory=list)
    untuned: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """How many distinct primitives there are."""
        return len(self.tuned) + len(self.untuned)

    def __str__(self) -> str:
        text = f"{len(self.tuned)} of {counted(self.total, 'kernel')} tuned"
        if not self.skipped:
            return text
        reasons = "; ".join(f"{why} ({count})" for why, count in self.skipped.most_common())
        return f"{text}, records of the log passed over: {reasons}"


@dataclass(frozen=True, slots=True, eq=False)
class BuildSchedules:
    """Gives builds the schedules that a log knows, and default ones.

    Attributes:
        known: those of the log; None without one.
        defaults: those of all other kernels.
        coverage: is told which primitives were found in the log.
    """

    known: ScheduleLookup | None
    defaults: DefaultSchedules
    coverage: Coverage
    _asked: set[str] = field(default_factory=set)

    @staticmethod
    def of(
        log: str | os.PathLike[str] | None,
        target: Target,
        threads: int,
        accuracy: Accuracy,
        coverage: Coverage,
    ) -> BuildSchedules:
        """Those of the log at a path; InputError if it cannot be read."""
        path = None if log is None else path_argument(log, "log", "Omit it to use none.")
        known = None if path is None else schedule_lookup(path, target, threads, CODE_VERSION)
        machine = machine_of(target)
        if known is not None:
            coverage.skipped = known.skipped
            machine = machine_of(target, known.limits, known.logged)

        def is_unknown(digest: str) -> bool:
            return known is None or not known.offers(digest)

        defaults = DefaultSchedules(machine, threads, accuracy, is_unknown)
        return BuildSchedules(known, defaults, coverage)

    def __call__(self, key: PrimitiveKey, plan: Plan) -> Schedule:
        """The schedule of a primitive with a direct plan."""
        allowed = plan.with_accuracy(self.defaults.accuracy)
        schedule = None if self.known is None else self.known(key, allowed)
        if key.digest not in self._asked:
            self._asked.add(key.digest)
            found = self.coverage.untuned if schedule is None else self.coverage.tuned
            found.append(key.title)
        return self.defaults.of(key.digest, plan) if schedule is None else schedule


def build(
    module: Module,
    *,
    log: str | os.PathLike[str] | None = None,
    target: str | Target = "native",
    threads: int | None = None,
    accuracy: str = "fast",
    report: Report | None = None,
    coverage: Coverage | None = None,
    sizes: Sequence[int] = USUAL_SIZES,
    shapes: InputSizes | Sequence[InputSizes] = (),
    pipeline: Pipeline | str | None = None,
    verify: str | None = None,
    memory_limit: int | MemoryLimit | None = None,
) -> Model:
    """Compile a module's main function for a machine.

    Args:
        module: the program, typed or not, as the user gave it.
        log: a tuning log; primitives that it does not know get good default schedules.
        target: `native`, or `TRIPLE[:CPU[:+feature,...]]`.
        threads: how many threads the code is made for; by default all processors of this process.
        accuracy: `exact` (as direct sums), `fast` (values reach no results that do not depend on
            them, but for tiles of Winograd convolutions) or `relaxed` (all algorithms).
        report: is told, line by line, what is being compiled.
        coverage: is told which primitives were found in the log.
        sizes: sizes of open dimensions for which products with weights get code of their own, with
            what the log knows for these sizes, beside the code for all sizes.
        shapes: of inputs with dynamic sizes: sizes by name, some of them ranges, between which
            kernels are chosen for some (`relay_tune.building.size_points`).
        pipeline: the passes that turn the module into kernels, as a list or as text such as
            `default{layout=NCHW}` (`relay_tune.transform.pipeline_text`).
        verify: what is verified after each pass: `structure` (scopes, types, kernels) or also
            `answers` (by the interpreter on random inputs); by default nothing.
        memory_limit: the most bytes between kernels (`Model.workspace_bytes`), which are all but
            inputs, outputs and constants; results are computed again where they would take more.

    Raises BuildError where the program has no native form, InputError for a log that cannot be
    read and for a limit that cannot be kept, RelayError for an ill-typed program.
    """
    chosen = target_argument(target)
    wanted = parse_accuracy(accuracy)
    covered = coverage if coverage is not None else Coverage()
    passes = ChosenPasses(pipeline, verify)
    schedules = BuildSchedules.of(log, chosen, thread_count(threads), wanted, covered)

    return build_model(
        module,
        target=chosen,
        threads=schedules.defaults.threads,
        accuracy=wanted,
        schedules=schedules,
        report=report,
        sizes=sizes,
        defaults=schedules.defaults,
        shapes=shapes,
        passes=passes,
        memory_limit=memory_limit,
    )
