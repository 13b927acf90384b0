"""Observers of a pipeline: what happens after each pass."""

from __future__ import annotations

from dataclasses import field
from typing import Protocol

from relay_tune.ir.module import Module
from relay_tune.quick_dataclass import dataclass


class Instrument(Protocol):
    """Is told of each pass that ran."""

    def after_pass(self, name: str, before: Module, after: Module, seconds: float) -> None:
        """Pass `name` took `seconds` to turn `before` into `after`."""


@dataclass(frozen=True)
class Timing:
    """Collects the seconds that each pass took, in order."""

    seconds: list[tuple[str, float]] = field(default_factory=list)

    def after_pass(self, name: str, before: Module, after: Module, seconds: float) -> None:
        """Append one entry."""
        self.seconds.append((name, seconds))
