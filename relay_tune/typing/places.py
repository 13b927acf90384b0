"""Where in the user's program a type error stands, and the error itself."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import RelayError, Span, TypeInferenceError
from relay_tune.ir.expr import Call, Constructor, Expr, GlobalVar, Let, Var, type_name
from relay_tune.ir.operator import Operator
from relay_tune.typing.type_text import type_text
from relay_tune.typing.unify import UnificationError


class Places:
    """Makes errors that say where they are: the span if there is one, else words."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self.function: str | None = None

    def error(
        self,
        node: Expr,
        message: str,
        *,
        label: str = "",
        notes: tuple[str, ...] = (),
        remedy: str | None = None,
    ) -> TypeInferenceError:
        """A type error at `node`."""
        span = node.span
        return TypeInferenceError(
            message,
            where=span if span is not None else self._words(node),
            label=label,
            notes=notes,
            remedy=remedy,
            source_text=None if span is None else self._text(span),
        )

    def wrap(
        self,
        node: Expr,
        context: str,
        error: RelayError,
        remedy: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> TypeInferenceError:
        """The error of a relation or of unification, at `node`; `context` says what was done.

        An error that has its location already stays as it is.
        """
        if isinstance(error, TypeInferenceError) and error.where is not None:
            return error
        if isinstance(error, UnificationError):
            pair = f"{type_text(error.left)} and {type_text(error.right)} do not match"
            message = f"{context}: {pair}: {error.message}."
            return self.error(node, message, label=error.message, notes=notes, remedy=remedy)
        return self.error(
            node,
            f"{context}: {error.message.rstrip('.')}.",
            label=error.label,
            notes=error.notes,
            remedy=remedy or error.remedy,
        )

    def _text(self, span: Span) -> str | None:
        return self._sources.get(span.source)

    def _words(self, node: Expr) -> str:
        inside = "" if self.function is None else f" in @{self.function}"
        return f"{describe(node)}{inside}"


def describe(node: Expr) -> str:
    """An expression in words, such as "call of nn.conv2d"."""
    match node:
        case Call(callee=callee):
            return f"call of {callee_name(callee)}"
        case Var():
            return f"variable %{node.name}"
        case GlobalVar():
            return f"@{node.name}"
        case Let():
            return f"let %{node.var.name}"
        case Operator() | Constructor():
            return node.name
        case _:
            return type_name(node)


def callee_name(callee: Expr) -> str:
    """The name of what is called, as it stands in text."""
    match callee:
        case Operator() | Constructor():
            return callee.name
        case GlobalVar():
            return f"@{callee.name}"
        case Var():
            return f"%{callee.name}"
        case _:
            return "a function value"
