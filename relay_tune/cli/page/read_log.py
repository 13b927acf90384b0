"""Reads networks and their kernels from a tuning log, with care."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from logs import Record, Run, TuningLog
from relay_tune.cli.page.kernel import KernelReport, Sample
from relay_tune.cli.page.network import NetworkReport, WholeTimes
from relay_tune.cli.task_description import TaskDescription, task_description
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.tuning.kept_schedules import KEPT
from relay_tune.tuning.network_times import read_times
from relay_tune.tuning.run_record import RunRecord, read_run
from relay_tune.tuning.scope import TuningScope

OK = "ok"

SHORTEST, LONGEST = 1e-10, 1e7
"""Seconds of one run that are believed."""

Groups = Mapping[TuningScope, Mapping[str, Sequence[Record]]]
"""The records of each kernel, by what they were measured for."""


def network_reports(log: TuningLog) -> list[NetworkReport]:
    """One report for each network and scope, the one that was tuned last first.

    Kernels that no run counts to a network come last, as if a network without a name ran each once.
    """
    reader = _Reader(log, _grouped(log))
    told = [(run, record) for run in reversed(log.runs()) if (record := _record_of(run))]
    latest: dict[_Network, RunRecord] = {}
    times: dict[_Network, WholeTimes] = {}
    for run, record in told:
        network = _network(record)
        latest.setdefault(network, record)
        whole = _whole_times(run)
        if whole is not None:
            times.setdefault(network, whole)
    found = [reader.network(record, times.get(key)) for key, record in latest.items()]
    found += [reader.others(scope, [record for _, record in told]) for scope in reader.groups]
    return [report for report in found if report.kernels]


_Network = tuple[str, TuningScope, tuple[str, ...]]
"""Properties equal in all runs of a network: its name, the machine, its kernels."""


def _network(record: RunRecord) -> _Network:
    return record.model, record.scope, tuple(sorted(digest for digest, _ in record.kernels))


def _record_of(run: Run) -> RunRecord | None:
    """The record of a run; None where it tells no kernels."""
    record = read_run(run.arguments)
    return record if record is not None and record.kernels else None


def _whole_times(run: Run) -> WholeTimes | None:
    """The times of the whole network that a run took, if it did."""
    results = json.loads(run.results)
    times = read_times(results.get("network")) if isinstance(results, dict) else None
    if times is None:
        return None
    return WholeTimes(times, run.began if run.ended is None else run.ended)


def _grouped(log: TuningLog) -> Groups:
    groups: dict[TuningScope, dict[str, list[Record]]] = {}
    for record in log.history():
        scope = TuningScope(record.target, record.threads, record.code_version)
        groups.setdefault(scope, {}).setdefault(record.workload, []).append(record)
    return groups


@dataclass(frozen=True, slots=True)
class _Reader:
    """A log and its records."""

    log: TuningLog
    groups: Groups

    def network(self, run: RunRecord, whole: WholeTimes | None) -> NetworkReport:
        """The report on the kernels that a run tuned, under the names that the network has."""
        report = self._report(run.model or "a network", run.scope, dict(run.kernels))
        titles, nodes = dict(run.titles), dict(run.nodes)
        kernels = (
            replace(
                kernel,
                title=titles.get(kernel.digest, kernel.title),
                nodes=nodes.get(kernel.digest, kernel.nodes),
            )
            for kernel in report.kernels
        )
        return replace(report, kernels=tuple(kernels), whole=whole)

    def others(self, scope: TuningScope, runs: Sequence[RunRecord]) -> NetworkReport:
        """The report on the kernels of a scope that no run counts to a network."""
        taken = {digest for run in runs if run.scope == scope for digest, _ in run.kernels}
        left = dict.fromkeys((each for each in self.groups[scope] if each not in taken), 1)
        return self._report("", scope, left)

    def _report(self, name: str, scope: TuningScope, kernels: Mapping[str, int]) -> NetworkReport:
        limits = MachineLimits.from_entries(self.log.limits(scope.target), scope.threads)
        records = self.groups.get(scope, {})
        found = [
            self._kernel(digest, runs, scope, records[digest], limits)
            for digest, runs in kernels.items()
            if digest in records
        ]
        found.sort(key=lambda kernel: (-kernel.total, kernel.digest))
        return NetworkReport(
            name, scope.target, scope.threads, scope.code_version, limits, tuple(found)
        )

    def _kernel(
        self,
        digest: str,
        runs: int,
        scope: TuningScope,
        records: Sequence[Record],
        limits: MachineLimits | None,
    ) -> KernelReport:
        described = task_description(self.log.task(digest), digest)
        correct = [record for record in records if _outcome(record) == OK]
        chosen = _chosen(described, scope, correct)
        schedule = "" if chosen is None else chosen.schedule
        own = described.operations_of(schedule)
        return KernelReport(
            title=described.title,
            nodes=described.nodes,
            digest=digest,
            runs=runs,
            seconds=None if chosen is None else chosen.seconds,
            untuned=correct[0].seconds if correct else None,
            schedule=schedule,
            operations=described.operations if own is None else own,
            bytes=described.bytes,
            bound=None if limits is None else described.bound(limits),
            samples=_samples(records),
            failures=Counter(_outcome(each) for each in records if _outcome(each) != OK),
        )


def _chosen(
    described: TaskDescription, scope: TuningScope, correct: Sequence[Record]
) -> Record | None:
    """The record of the schedule that a build takes: the fastest one that holds in the network."""
    kept = next((mark for mark in KEPT.of(described.fields) if mark.scope == scope), None)
    if kept is None:
        return min(correct, key=_seconds, default=None)
    times = {
        record.schedule: kept.seconds for record in correct if record.schedule == kept.schedule
    }
    times |= {each.schedule: _seconds(each) for each in correct if each.created > kept.time}
    offered = [record for record in correct if record.schedule in times]
    return min(offered or correct, key=lambda each: times.get(each.schedule, 0.0), default=None)


def _outcome(record: Record) -> str:
    """How a measurement ended; a time that no kernel takes, in a log from elsewhere, is none."""
    if record.status == OK and not SHORTEST <= _seconds(record) <= LONGEST:
        return "implausible"
    return str(record.status)


def _seconds(record: Record) -> float:
    return record.seconds or 0.0


def _samples(records: Sequence[Record]) -> tuple[Sample, ...]:
    """The measured schedules; a record has the time of its last measurement, so the first one is
    taken to be no later than those of the records after it."""
    found: list[Sample] = []
    at = inf
    for record in reversed(records):
        at = min(at, record.created)
        found.append(Sample(at, record.seconds if _outcome(record) == OK else None))
    return tuple(reversed(found))
