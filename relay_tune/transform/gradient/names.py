"""Names of what derivatives add to a module."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import field

from relay_tune.ir.module import Module
from relay_tune.quick_dataclass import dataclass


@dataclass
class Names:
    """Gives each new function, data type and constructor a name that is free."""

    taken: set[str] = field(default_factory=set)

    @staticmethod
    def of(module: Module) -> Names:
        """Those of a module are taken."""
        constructors = (part.name for data in module.types.values() for part in data.constructors)
        return Names({*module.functions, *module.types, *constructors})

    def new(self, wanted: str) -> str:
        """`wanted`, with a number if it is taken."""
        numbered = (f"{wanted}_{number}" for number in itertools.count(1))
        name = next(name for name in itertools.chain((wanted,), numbered) if name not in self.taken)
        self.taken.add(name)
        return name


def title(*parts: str) -> str:
    """The name of a type or constructor: its parts begin with capitals."""
    words: Iterable[str] = (word for part in parts for word in part.split("_") if word)
    return "".join(word[0].upper() + word[1:] for word in words)
