"""The choices that a space is made of, and when they count."""

from dataclasses import dataclass

from search.errors import SearchError


@dataclass(frozen=True, slots=True)
class Condition:
    """A choice counts only where the one of this name, which always counts, has this value."""

    name: str
    value: object


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision with its possible values, in their natural order where they have one.

    Neighbouring values are taken to behave alike: mutation prefers small steps. A choice may be
    conditional (compare Hutter et al., "Sequential Model-Based Optimization for General Algorithm
    Configuration", LION 2011, section 4): where it does not count, its gene is `idle`.

    Attributes:
        name: different from the names of the other choices of a space.
        values: the alternatives, all different.
        condition: when it counts; None for always.
        idle: the index of the value that stands in a genome in which the choice does not count.
    """

    name: str
    values: tuple[object, ...]
    condition: Condition | None = None
    idle: int = 0

    def __post_init__(self) -> None:
        if not self.values:
            raise SearchError(f"choice {self.name!r} has no values: give it at least one")
        if any(value in self.values[:i] for i, value in enumerate(self.values)):
            raise SearchError(f"choice {self.name!r} has a value twice: {self.values!r}")
        if not 0 <= self.idle < len(self.values):
            raise SearchError(f"choice {self.name!r} has no value number {self.idle}")
