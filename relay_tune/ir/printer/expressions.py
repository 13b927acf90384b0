"""Expressions as text, line by line.

Every call gets a line `%N = ...;` but for the last value of a block and the values of lets; leaves
and small unshared tuples stand where they are used. Blocks wait on a stack, so the depth of a
program is no limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay_tune.ir.expr import Expr, Function, If, Let, Match
from relay_tune.ir.expression_scopes import ExpressionScope
from relay_tune.ir.printer.atoms import AtomWriter
from relay_tune.ir.printer.comments import Comments
from relay_tune.ir.printer.layout import Layout, plan_layout
from relay_tune.ir.traversal import free_vars
from relay_tune.quick_dataclass import dataclass

_DEEPEST_INDENT = 20  # deeper blocks stand at this level, so that text grows linearly


@dataclass(frozen=True, slots=True)
class _Line:
    """A node that gets its own number."""

    node: Expr
    depth: int


@dataclass(frozen=True, slots=True)
class _Block:
    """The lines and the value of a scope."""

    scope: ExpressionScope
    depth: int


@dataclass(frozen=True, slots=True)
class _Let:
    """A let and what follows it in its block."""

    node: Let
    depth: int


@dataclass(frozen=True, slots=True)
class _Result:
    """The value of a block, on the last line of it."""

    node: Expr
    depth: int


@dataclass(frozen=True, slots=True)
class _ClauseHead:
    """The pattern of a clause."""

    node: Match
    index: int
    depth: int


_Node = _Line | _Block | _Let | _Result | _ClauseHead
_Piece = str | _Node


class ExpressionWriter:
    """Writes one expression."""

    def __init__(self, root: Expr, atoms: AtomWriter, comments: Comments) -> None:
        self.root = root
        self.atoms = atoms
        self.comments = comments
        self.layout: Layout = plan_layout(root)

    def expression(self) -> str:
        """The root as the value of a text."""
        return "".join(self._written([*self._free_vars(0), _Block(self.layout.top, 0)]))

    def function(self, head: str, function: Function) -> str:
        """The root, which is `function`, as a definition that begins with `head`."""
        opening = f"{head}{self.atoms.function_head(function)} {{\n"
        body = _Block(self.layout.inner[function, 0], 1)
        return "".join(self._written([opening, *self._free_vars(1), body, "}\n"]))

    def _free_vars(self, depth: int) -> list[str]:
        return [
            f"{_indent(depth)}free_var {self.atoms.declaration(var)};\n"
            for var in free_vars(self.root)
        ]

    def _written(self, pieces: Sequence[_Piece]) -> Iterator[str]:
        stack = list(reversed(pieces))
        while stack:
            piece = stack.pop()
            if isinstance(piece, str):
                yield piece
            else:
                stack.extend(reversed(self._expanded(piece)))

    def _expanded(self, piece: _Node) -> list[_Piece]:
        match piece:
            case _Line():
                return self._line(piece.node, piece.depth)
            case _Block():
                return self._block(piece.scope, piece.depth)
            case _Let():
                return self._let(piece.node, piece.depth)
            case _Result():
                return [_indent(piece.depth), *self._value(piece.node, piece.depth), "\n"]
            case _ClauseHead():
                pattern = piece.node.clauses[piece.index].pattern
                return [f"{_indent(piece.depth)}{self.atoms.pattern(pattern)} => "]

    def _line(self, node: Expr, depth: int) -> list[_Piece]:
        number = len(self.atoms.numbers)
        value = self._value(node, depth)
        self.atoms.numbers[node] = number
        return [f"{_indent(depth)}%{number} = ", *value, ";\n"]

    def _block(self, scope: ExpressionScope, depth: int) -> list[_Piece]:
        lines: list[_Piece] = [_Line(node, depth) for node in scope.lines]
        root = scope.root
        if isinstance(root, Let) and root in self.layout.inline:
            return [*lines, _Let(root, depth)]
        return [*lines, _Result(root, depth)]

    def _let(self, let: Let, depth: int) -> list[_Piece]:
        head = f"{_indent(depth)}let {self.atoms.declaration(let.var)} = "
        value = self._value(let.value, depth)
        return [head, *value, ";\n", _Block(self.layout.inner[let, 1], depth)]

    def _value(self, node: Expr, depth: int) -> list[_Piece]:
        """A node as the value of a line; one that has a line already by its number."""
        if node in self.atoms.numbers:
            return [self.atoms.atom(node)]
        match node:
            case Function():
                head = f"fn {self.atoms.function_head(node)} "
                return [head, *self._braces(self.layout.inner[node, 0], depth)]
            case If():
                return self._if(node, depth)
            case Match():
                return self._match(node, depth)
            case Let():
                return ["{\n", _Let(node, depth + 1), f"{_indent(depth)}}}"]
            case _:
                return [self.atoms.plain(node), self.comments.text(node, self.atoms)]

    def _if(self, node: If, depth: int) -> list[_Piece]:
        head = f"if ({self.atoms.atom(node.condition)}) "
        true_branch = self._braces(self.layout.inner[node, 1], depth)
        return [head, *true_branch, " else ", *self._braces(self.layout.inner[node, 2], depth)]

    def _match(self, node: Match, depth: int) -> list[_Piece]:
        keyword = "match" if node.complete else "match?"
        pieces: list[_Piece] = [f"{keyword} ({self.atoms.atom(node.value)}) {{\n"]
        for index in range(len(node.clauses)):
            pieces.append(_ClauseHead(node, index, depth + 1))
            pieces += [*self._braces(self.layout.inner[node, index + 1], depth + 1), ",\n"]
        return [*pieces, f"{_indent(depth)}}}"]

    def _braces(self, scope: ExpressionScope, depth: int) -> list[_Piece]:
        return ["{\n", _Block(scope, depth + 1), f"{_indent(depth)}}}"]


def _indent(depth: int) -> str:
    return "  " * min(depth, _DEEPEST_INDENT)
