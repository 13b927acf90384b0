"""Comments behind the values of lines: inferred types, and what the caller has to say."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.ir.expr import Expr
from relay_tune.ir.printer.atoms import AtomWriter
from relay_tune.quick_dataclass import dataclass

Annotate = Callable[[Expr], str]
"""Comment to print behind an expression; empty: none."""


@dataclass(frozen=True, slots=True)
class Comments:
    """Which comments there are.

    Attributes:
        show_types: whether the types that inference found are among them.
        annotate: what else there is, if anything.
    """

    show_types: bool = False
    annotate: Annotate | None = None

    def text(self, node: Expr, atoms: AtomWriter) -> str:
        """The comment behind a node, with a blank before it; empty if there is none."""
        notes: list[str] = []
        if self.show_types and node.type is not None:
            notes.append(f"ty={atoms.type(node.type)}")
        if self.annotate is not None:
            notes.append(self.annotate(node))
        text = " ".join(note for note in notes if note)
        return f" /* {_inside_comment(text)} */" if text else ""


def _inside_comment(text: str) -> str:
    """A text that neither ends a comment nor opens another one."""
    return text.replace("*/", "* /").replace("/*", "/ *")
