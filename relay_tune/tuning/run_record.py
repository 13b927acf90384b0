"""The log's record of a tuning run: the network, its kernels, and the budget."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.scope import TuningScope
from relay_tune.tuning.tasks import Task


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A network as a run tuned it.

    Attributes:
        model: its name; empty where none was given.
        scope: what its kernels were measured for.
        kernels: the digest of each task, and how often the network runs it.
        titles: the digest of each task, and what this network calls it.
        nodes: the digest of each task, and the names of the nodes that run it.
    """

    model: str
    scope: TuningScope
    kernels: tuple[tuple[str, int], ...]
    titles: tuple[tuple[str, str], ...] = ()
    nodes: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @staticmethod
    def of(model: str, scope: TuningScope, tasks: Sequence[Task]) -> RunRecord:
        """The record of a run that tunes these tasks."""
        return RunRecord(
            model,
            scope,
            tuple((task.key.digest, task.weight) for task in tasks),
            tuple((task.key.digest, task.title) for task in tasks),
            tuple((task.key.digest, task.nodes) for task in tasks),
        )

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {
            "model": self.model,
            "target": self.scope.target,
            "threads": self.scope.threads,
            "code_version": self.scope.code_version,
            "kernels": dict(self.kernels),
            "titles": dict(self.titles),
            "nodes": {digest: list(names) for digest, names in self.nodes},
        }


def read_run(text: str) -> RunRecord | None:
    """The record in the arguments of a run; None where they do not tell, as in older logs."""
    match json.loads(text):
        case {
            "model": str(model),
            "target": str(target),
            "threads": int(threads),
            "code_version": str(version),
            "kernels": dict(kernels),
            **others,
        }:
            counts = tuple((digest, runs) for digest, runs in kernels.items() if _is_count(runs))
            scope = TuningScope(target, threads, version)
            return RunRecord(model, scope, counts, _titles(others), _nodes(others))
    return None


def _titles(fields: Mapping[object, object]) -> tuple[tuple[str, str], ...]:
    """The titles of kernels; none where a record does not tell them."""
    titles = fields.get("titles")
    pairs = titles.items() if isinstance(titles, dict) else ()
    return tuple((digest, title) for digest, title in pairs if isinstance(title, str) and title)


def _nodes(fields: Mapping[object, object]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The nodes of kernels; none where a record does not tell them."""
    nodes = fields.get("nodes")
    pairs = nodes.items() if isinstance(nodes, dict) else ()
    return tuple(
        (digest, tuple(map(str, names))) for digest, names in pairs if isinstance(names, list)
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40
