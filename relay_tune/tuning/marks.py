"""A task's records in the log beside its measurements: for each scope a mark of each kind.

The marks of a kind are a list in the log's description of the task, under the name of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.scope import TuningScope


class Mark(Protocol):
    """Something that was found out about a task."""

    @property
    def scope(self) -> TuningScope:
        """The scope that the mark holds for."""

    def to_json(self) -> object:
        """The mark as JSON values."""


M = TypeVar("M", bound=Mark)


@dataclass(frozen=True, slots=True)
class MarkKind(Generic[M]):
    """Marks of one kind.

    Attributes:
        name: under which a description has them.
        read: a mark from its JSON values, None where these are not one.
    """

    name: str
    read: Callable[[object], M | None]

    def of(self, description: Mapping[str, Any]) -> list[M]:
        """The marks in the description of a task; malformed ones are passed over."""
        values = description.get(self.name, [])
        found = [self.read(value) for value in values] if isinstance(values, list) else []
        return [mark for mark in found if mark is not None]

    def added(self, description: Mapping[str, Any], mark: M) -> dict[str, Any]:
        """The description with a mark in the place of the one for the same scope."""
        others = [other for other in self.of(description) if other.scope != mark.scope]
        return {**description, self.name: [item.to_json() for item in (*others, mark)]}
