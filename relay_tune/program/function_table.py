"""Program-wide lookups for the lowering of a function body."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from relay_tune.ir.expr import Expr, Function
from relay_tune.program.instructions import Register
from relay_tune.program.kinds import Kind
from relay_tune.program.layouts import ObjectLayout
from relay_tune.program.object_layouts import ObjectLayouts
from relay_tune.program.values import KnownFunction, Value


class FunctionTable(ABC):
    """The functions of a program that is being lowered."""

    layouts: ObjectLayouts

    @abstractmethod
    def known_global(self, name: str) -> KnownFunction:
        """A function of the module."""

    @abstractmethod
    def unused_name(self, wanted: str) -> str:
        """A name that no function has yet."""

    @abstractmethod
    def declare(
        self,
        name: str,
        function: Function,
        captured: tuple[Register, ...],
        bindings: Mapping[Expr, Value],
    ) -> None:
        """Have a function lowered: `captured` are its leading parameters."""

    @abstractmethod
    def parameter_kinds(self, known: KnownFunction) -> tuple[Kind, ...]:
        """The kinds of the parameters of a function, without what it captures."""

    @abstractmethod
    def closure_kind(self, known: KnownFunction) -> Kind:
        """The kind of the closures of a function."""

    @abstractmethod
    def closure_layout(self, known: KnownFunction) -> ObjectLayout:
        """The layout of the closures of a function."""
