"""The source of a Python function: its syntax tree, its file, and places in it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from relay_tune.arguments import did_you_mean
from relay_tune.errors import InputError, ParseError, Span


@dataclass(frozen=True)
class PythonSource:
    """A function as text.

    Attributes:
        file: the name that spans carry.
        text: the whole file.
        tree: the definition of the function; its lines count from `first_line`.
        first_line: the line of the file at which the text of the tree begins, from 0.
        indent: how many characters were taken from the left of each line.
    """

    file: str
    text: str
    tree: ast.FunctionDef
    first_line: int
    indent: int

    def span(self, node: ast.AST) -> Span:
        """The region of a node of the tree, whose columns count bytes; those of spans do not."""
        line, end_line = getattr(node, "lineno", 1), getattr(node, "end_lineno", None) or 1
        return Span(
            self.file,
            self.first_line + line,
            self._column(line, getattr(node, "col_offset", 0)),
            self.first_line + end_line,
            self._column(end_line, getattr(node, "end_col_offset", None) or 0),
        )

    def _column(self, line: int, offset: int) -> int:
        lines = self.text.splitlines()
        row = self.first_line + line - 1
        content = lines[row][self.indent :] if row < len(lines) else ""
        return self.indent + len(content.encode()[:offset].decode(errors="ignore")) + 1

    def begins_with(self, node: ast.AST, text: str) -> bool:
        """Whether the text of a node begins so."""
        span = self.span(node)
        lines = self.text.splitlines()
        return lines[span.line - 1][span.column - 1 :].startswith(text)

    def error(
        self, node: ast.AST, message: str, *, label: str = "", remedy: str | None = None
    ) -> ParseError:
        """An error about a node, for the caller to raise."""
        return ParseError(
            message, where=self.span(node), label=label, remedy=remedy, source_text=self.text
        )

    def unknown(self, node: ast.AST, name: str, known: Iterable[str]) -> ParseError:
        """The error that a name means nothing, with the nearest names that do."""
        remedy = did_you_mean(name, known, "Assign it before, or make it a parameter.")
        return self.error(node, f"{name} means nothing here.", label="not defined", remedy=remedy)


def source_of(function: Callable[..., Any]) -> PythonSource:
    """The source of a function; InputError if Python does not know it."""
    name = getattr(function, "__qualname__", repr(function))
    try:
        lines, start = inspect.getsourcelines(function)
        all_lines, _ = inspect.findsource(function)
    except (OSError, TypeError) as error:
        raise InputError(
            f"The source of {name} is not known.", remedy="Write the function into a file."
        ) from error
    text = "".join(lines)
    shorter = dedent(text)
    indent = len(lines[0]) - len(shorter.splitlines(keepends=True)[0])
    tree = ast.parse(shorter).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise InputError(
            f"{name} is no function that is written with def.",
            remedy="Lambdas and coroutines cannot be translated by themselves.",
        )
    file = inspect.getsourcefile(function) or "<python>"
    return PythonSource(file, "".join(all_lines), tree, start - 1, indent)
