"""Conditions under which measurements are comparable."""

from __future__ import annotations

from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TuningScope:
    """One target, one thread count, one version of the code generator."""

    target: str
    threads: int
    code_version: str
