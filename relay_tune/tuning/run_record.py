"""What the log remembers of a tuning run: the network, its kernels, and the budget."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from relay_tune.tuning.scope import Scope


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A network as a run tuned it.

    Attributes:
        model: its name; empty where none was given.
        scope: what its kernels were measured for.
        kernels: the digest of each task, and how often the network runs it.
    """

    model: str
    scope: Scope
    kernels: tuple[tuple[str, int], ...]

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {
            "model": self.model,
            "target": self.scope.target,
            "threads": self.scope.threads,
            "code_version": self.scope.code_version,
            "kernels": dict(self.kernels),
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
        }:
            counts = tuple((digest, runs) for digest, runs in kernels.items() if _is_count(runs))
            return RunRecord(model, Scope(target, threads, version), counts)
    return None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40
