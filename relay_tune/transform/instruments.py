"""Observers of a pipeline: what happens after each pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from relay_tune.errors import BuildError
from relay_tune.ir.module import Module
from relay_tune.ir.types import FuncType, Type
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text


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


@dataclass(frozen=True)
class Snapshots:
    """Keeps the module that each pass gave, in order."""

    modules: list[tuple[str, Module]] = field(default_factory=list)

    def after_pass(self, name: str, before: Module, after: Module, seconds: float) -> None:
        """Append one entry."""
        self.modules.append((name, after))


@dataclass(frozen=True)
class Verification:
    """Infers the types anew after each pass and checks that no pass changed a function's type."""

    def after_pass(self, name: str, before: Module, after: Module, seconds: float) -> None:
        """Raise TypeInferenceError or BuildError where the pass broke the program."""
        old, new = infer_types(before), infer_types(after)
        for function in ("main",) if "main" in old.functions else tuple(old.functions):
            expected, found = old[function].type, new[function].type
            if not _same_type(expected, found):
                raise BuildError(
                    f"Pass {name} changed the type of @{function}.",
                    notes=(f"before: {_text(expected)}", f"after: {_text(found)}"),
                    remedy="A pass must keep types; correct the pass.",
                )


def _same_type(first: Type | None, second: Type | None) -> bool:
    if isinstance(first, FuncType) and isinstance(second, FuncType) and first.type_params:
        return len(first.type_params) == len(second.type_params)
    return first == second


def _text(type_: Type | None) -> str:
    return "unknown" if type_ is None else type_text(type_)
