"""The source of a Python function: its syntax tree, its file, and locations in it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from tokenize import TokenError
from typing import Any

from relay_tune.arguments import did_you_mean
from relay_tune.errors import InputError, ParseError, Span
from relay_tune.quick_dataclass import dataclass

_OTHER_LINE_ENDS = str.maketrans(dict.fromkeys("\v\f\x1c\x1d\x1e\x85\u2028\u2029", " "))
"""Characters that end a line for `str.splitlines`, but not for Python's parser."""


@dataclass(frozen=True)
class PythonSource:
    """A function as text.

    Attributes:
        file: the name that spans carry.
        text: the whole file.
        tree: the definition of the function; its lines count from `first_line`.
        first_line: the line of the file at which the text of the tree begins, from 0.
    """

    file: str
    text: str
    tree: ast.FunctionDef
    first_line: int

    @property
    def shown(self) -> str:
        """The text with the lines that Python counts, for errors."""
        return self.text.translate(_OTHER_LINE_ENDS)

    def span(self, node: ast.AST) -> Span:
        """The region of a node of the tree, whose columns count bytes; those of spans do not."""
        line = getattr(node, "lineno", self.tree.lineno)
        end_line = getattr(node, "end_lineno", None) or line
        return Span(
            self.file,
            self.first_line + line,
            self._column(line, getattr(node, "col_offset", 0)),
            self.first_line + end_line,
            self._column(end_line, getattr(node, "end_col_offset", None) or 0),
        )

    def _column(self, line: int, offset: int) -> int:
        lines = self.text.split("\n")
        row = self.first_line + line - 1
        content = lines[row] if row < len(lines) else ""
        return len(content.encode()[:offset].decode(errors="ignore")) + 1

    def begins_with(self, node: ast.AST, text: str) -> bool:
        """Whether the text of a node begins so."""
        span = self.span(node)
        lines = self.text.split("\n")
        return lines[span.line - 1][span.column - 1 :].startswith(text)

    def error(
        self, node: ast.AST, message: str, *, label: str = "", remedy: str | None = None
    ) -> ParseError:
        """An error about a node, for the caller to raise."""
        return ParseError(
            message, where=self.span(node), label=label, remedy=remedy, source_text=self.shown
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
        tree, head = _parsed("".join(lines))
    except (OSError, TypeError, SyntaxError, TokenError) as error:
        raise InputError(
            f"The source of {name} is not known.",
            remedy="Write the function into a file, and import it anew where that was changed.",
        ) from error
    if not isinstance(tree, ast.FunctionDef):
        raise InputError(
            f"{name} is no function that is written with def.",
            remedy="Lambdas and coroutines cannot be translated by themselves.",
        )
    file = inspect.getsourcefile(function) or "<python>"
    return PythonSource(file, "".join(all_lines), tree, start - 1 - head)


def _parsed(text: str) -> tuple[ast.stmt, int]:
    """The first statement of a text, and how many lines were put before it.

    An indented one is read as the body of another statement: to take the indent away would change
    texts in it that go over several lines.
    """
    if not text[:1].isspace():
        return ast.parse(text).body[0], 0
    (outer,) = ast.parse(f"if True:\n{text}").body
    assert isinstance(outer, ast.If)
    return outer.body[0], 1
