"""The tuning log as a tuning run uses it: one target, one thread count, one code version."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import logs
from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.runtime.measuring.measurement import Measurement
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.finished_tasks import FINISHED, FinishedMark
from relay_tune.tuning.kept_schedules import KEPT, KeptSchedule
from relay_tune.tuning.log_errors import log_errors
from relay_tune.tuning.logged_programs import program_fields
from relay_tune.tuning.scope import TuningScope
from relay_tune.tuning.tasks import Task

GIVE_UP_ATTEMPTS = 4
"""A candidate is not tried again at whose running code so many tuning processes have died.

They may have been killed for other reasons: a smaller number would too often blame it wrongly."""


class LogKeeper:
    """Reads and writes the records of one scope; raises InputError where the log cannot be used.

    Attributes:
        scope: of all records that are read and written.
    """

    def __init__(self, path: str | PathLike[str], scope: TuningScope) -> None:
        with log_errors():
            self._log = logs.open_log(path)
        self.scope = scope
        self._host = socket.gethostname()

    def close(self) -> None:
        """Let go of the log."""
        with log_errors():
            self._log.close()

    def history(self, task: Task) -> list[logs.Record]:
        """The records of a task, oldest first."""
        scope = self.scope
        with log_errors():
            return list(
                self._log.history(task.key.digest, scope.target, scope.threads, scope.code_version)
            )

    def records(self, task: Task) -> list[logs.Record]:
        """The records of a task with any number of threads, oldest first."""
        scope = self.scope
        with log_errors():
            return list(
                self._log.history(
                    task.key.digest, target=scope.target, code_version=scope.code_version
                )
            )

    def history_of_others(self, digests: set[str]) -> list[logs.Record]:
        """The records of all other tasks, which may teach the cost model."""
        scope = self.scope
        with log_errors():
            found = list(self._log.history(None, scope.target, scope.threads, scope.code_version))
        return [record for record in found if record.workload not in digests]

    def claim(self, task: Task, schedules: Sequence[Schedule]) -> list[bool]:
        """Note that candidates are about to run; False for each that another process is at."""
        keys = [self._key(task, schedule.to_json()) for schedule in schedules]
        with log_errors():
            return self._log.claim_all(keys, max_attempts=GIVE_UP_ATTEMPTS, running=False)

    def record(self, task: Task, schedule: Schedule) -> logs.Record | None:
        """The record of a schedule, which another process may just have written."""
        text = schedule.to_json()
        found = (record for record in self.history(task) if record.schedule == text)
        return next(found, None)

    def killed_its_measurers(self, task: Task, schedule: Schedule) -> bool:
        """Whether as many processes as are allowed have died at a candidate."""
        key = self._key(task, schedule.to_json())
        with log_errors():
            stale = self._log.stale_claims()
        return any(
            claim.key == key and claim.attempts + claim.running > GIVE_UP_ATTEMPTS
            for claim in stale
        )

    def release(self, claimed: Iterable[tuple[Task, str]]) -> None:
        """Take back claims on schedules, which are given by their JSON texts."""
        with log_errors():
            self._log.release(*(self._key(task, text) for task, text in claimed))

    def append(
        self, task: Task, schedule: Schedule, measurement: Measurement, features: list[float]
    ) -> None:
        """Store a measurement; it is on disk when this returns."""
        key = self._key(task, schedule.to_json())
        with log_errors():
            self._log.append(
                logs.Record(
                    workload=key.workload,
                    target=key.target,
                    threads=key.threads,
                    code_version=key.code_version,
                    schedule=key.schedule,
                    status=logs.Status(measurement.outcome.value),
                    created=time.time(),
                    source=self._host,
                    seconds=measurement.seconds,
                    spread=measurement.spread,
                    message=measurement.message,
                    features=json.dumps([round(value, 5) for value in features]),
                )
            )

    def finished(self, task: Task) -> FinishedMark | None:
        """The mark of a task that came to an end in an earlier run with the same accuracy.

        None where records that it rests on are lost or damaged, or have times that cannot be.
        """
        wanted = self.scope, task.plan.accuracy
        marks = FINISHED.of(self._description(task))
        mark = next((mark for mark in marks if (mark.scope, mark.accuracy) == wanted), None)
        if mark is None or self.unsettled(task) or self._settled(task) < mark.records:
            return None
        return mark

    def unsettled(self, task: Task) -> list[str]:
        """The JSON texts of schedules whose records are damaged or have times that cannot be."""
        scope = self.scope
        with log_errors():
            return self._log.unsettled_schedules(
                task.key.digest, scope.target, scope.threads, scope.code_version
            )

    def _settled(self, task: Task) -> int:
        """How many records of a task finish what they measured."""
        implausible = logs.Status.IMPLAUSIBLE
        return sum(record.status is not implausible for record in self.history(task))

    def finish(self, task: Task, share: float, default: Schedule | None) -> None:
        """Mark a task that came to an end with a budget of so many candidates for each task.

        `default` is its default schedule, None where there is nothing to choose.
        """
        known = self._description(task)
        text = "" if default is None else default.to_json()
        mark = FinishedMark(self.scope, share, text, task.plan.accuracy, self._settled(task))
        self._put_description(task, known, FINISHED.added(known, mark))

    def describe(self, task: Task, works: Mapping[AppliedAlgorithm, KernelWork]) -> None:
        """Store what a task is, with its work under each algorithm and its program.

        The code of dynamic sizes is no program of these sizes alone: it is left out.
        """
        known = self._description(task)
        described = {
            "title": task.title,
            "nodes": list(task.nodes),
            "operations": task.operations,
            "bytes": task.bytes,
            "algorithms": _algorithms(works),
            **({} if task.sizes else program_fields(task.function)),
        }
        self._put_description(task, known, {**known, **described})

    def kept(self, task: Task) -> list[KeptSchedule]:
        """The marks of the task for this target and code version, for any number of threads."""
        return [
            mark
            for mark in KEPT.of(self._description(task))
            if replace(mark.scope, threads=self.scope.threads) == self.scope
        ]

    def keep(self, task: Task, schedule: Schedule, seconds: float, threads: int) -> None:
        """Mark the schedule that holds in the network with so many threads."""
        known = self._description(task)
        scope = replace(self.scope, threads=threads)
        mark = KeptSchedule(scope, schedule.to_json(), seconds, time.time())
        self._put_description(task, known, KEPT.added(known, mark))

    def limits(self) -> dict[str, float]:
        """The machine's limits by name, as far as the log knows."""
        with log_errors():
            return self._log.limits(self.scope.target)

    def put_limits(self, limits: dict[str, float]) -> None:
        """Store what the machine can reach."""
        with log_errors():
            self._log.put_limits(self.scope.target, limits)

    def begin_run(self, arguments: dict[str, Any]) -> int:
        """Note the start of a run."""
        with log_errors():
            return self._log.begin_run(logs.canonical_json(arguments))

    def end_run(self, run: int, state: str) -> None:
        """Note the end of a run: `finished`, `interrupted` or `failed`."""
        with log_errors():
            self._log.end_run(run, state)

    def note_results(self, run: int, results: dict[str, Any]) -> None:
        """Store what came out of a run."""
        with log_errors():
            self._log.note_results(run, logs.canonical_json(results))

    def _key(self, task: Task, schedule: str) -> logs.Key:
        scope = self.scope
        return logs.Key(task.key.digest, scope.target, scope.threads, scope.code_version, schedule)

    def _put_description(self, task: Task, known: dict[str, Any], new: dict[str, Any]) -> None:
        if new != known:
            with log_errors():
                self._log.put_task(task.key.digest, logs.canonical_json(new))

    def _description(self, task: Task) -> dict[str, Any]:
        with log_errors():
            text = self._log.task(task.key.digest)
        return {} if text is None else description_of(text)


def _algorithms(works: Mapping[AppliedAlgorithm, KernelWork]) -> list[dict[str, Any]]:
    """The work of algorithms; those with the same work are one entry, with the forms of all."""
    found: list[dict[str, Any]] = []
    for algorithm, work in works.items():
        own = work_as_json(work)
        same = next((each for each in found if own.items() <= each.items()), None)
        if same is None:
            found.append({**own, "names": [algorithm.to_json()]})
        else:
            same["names"].append(algorithm.to_json())
    return found


def work_as_json(work: KernelWork) -> dict[str, Any]:
    """The work of an algorithm as the description of a task has it."""
    return {"operations": dict(work.operations), "bytes": work.bytes}


def description_of(text: str) -> dict[str, Any]:
    """Decode the log's description of a task; empty where it is none."""
    data = json.loads(text)
    return data if isinstance(data, dict) else {}
