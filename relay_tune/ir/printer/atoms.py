"""Text without line breaks: leaves, names, calls of named things, patterns, function heads."""

from __future__ import annotations

from relay_tune.errors import InputError
from relay_tune.ir.expr import (
    Call,
    Constant,
    Constructor,
    ConstructorPattern,
    Expr,
    Function,
    GlobalVar,
    Pattern,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TuplePattern,
    Var,
    VarPattern,
    type_name,
)
from relay_tune.ir.names import bare_name, sigil_name
from relay_tune.ir.operator import Operator
from relay_tune.ir.printer.attributes import mapping_texts, record_texts
from relay_tune.ir.printer.constants import ConstantPool
from relay_tune.ir.printer.names import Names
from relay_tune.ir.printer.types import list_text, type_params_text, type_text
from relay_tune.ir.types import Type


class AtomWriter:
    """Writes what fits on a line; `numbers` holds the nodes that have a line `%N = ...`."""

    def __init__(self, names: Names, constants: ConstantPool) -> None:
        self.names = names
        self.constants = constants
        self.numbers: dict[Expr, int] = {}

    def atom(self, node: Expr) -> str:
        """A node where it is used: the number of its line, or the node itself."""
        number = self.numbers.get(node)
        return self.plain(node) if number is None else f"%{number}"

    def plain(self, node: Expr) -> str:
        """A node that contains no block; parts that are not leaves have numbers or are inline."""
        match node:
            case Var():
                return f"%{sigil_name(self.names.variable(node))}"
            case GlobalVar():
                return f"@{sigil_name(node.name)}"
            case Constant():
                return self.constants.text(node)
            case Operator():
                return bare_name(node.name)
            case Constructor():
                name = bare_name(node.name)
                return name if node.inputs else f"constructor({name})"
            case Tuple():
                return list_text([self.atom(part) for part in node.fields])
            case TupleGetItem():
                return f"{self._head(node.tuple_value)}.{node.index}"
            case Call():
                return self._call(node)
            case RefCreate():
                return f"ref({self.atom(node.value)})"
            case RefRead():
                return f"ref_read({self.atom(node.ref)})"
            case RefWrite():
                return f"ref_write({self.atom(node.ref)}, {self.atom(node.value)})"
            case _:
                raise InputError(
                    f"A {type_name(node)} has no text.",
                    remedy="Build the module from expressions of the language.",
                )

    def type(self, type_: Type) -> str:
        """A type, with the names of this text."""
        return type_text(type_, self.names.type_variable)

    def annotation(self, type_: Type | None) -> str:
        """`: type`, or nothing."""
        return "" if type_ is None else f": {self.type(type_)}"

    def declaration(self, var: Var) -> str:
        """A variable where it is bound, with its annotation."""
        return self.plain(var) + self.annotation(var.annotation)

    def function_head(self, function: Function) -> str:
        """The part of a function before its body."""
        type_params = type_params_text(function.type_params, self.names.type_variable)
        parts = [self.declaration(param) for param in function.params]
        parts += mapping_texts(function.attributes)
        result = "" if function.result_type is None else f" -> {self.type(function.result_type)}"
        return f"{type_params}({', '.join(parts)}){result}"

    def pattern(self, pattern: Pattern) -> str:
        """A pattern of `match`."""
        match pattern:
            case VarPattern():
                return self.declaration(pattern.var)
            case TuplePattern():
                return list_text([self.pattern(part) for part in pattern.patterns])
            case ConstructorPattern():
                parts = ", ".join(self.pattern(part) for part in pattern.patterns)
                name = bare_name(pattern.constructor.name)
                return f"{name}({parts})" if parts else name
            case _:
                return "_"

    def _head(self, node: Expr) -> str:
        """Print an expression before `(` or `.`; a number needs brackets there."""
        text = self.atom(node)
        return f"({text})" if isinstance(node, Constant) else text

    def _call(self, call: Call) -> str:
        parts = [self.atom(argument) for argument in call.arguments]
        parts += record_texts(call.attributes)
        types = ", ".join(self.type(argument) for argument in call.type_arguments)
        head = self._call_head(call.callee) + (f"[{types}]" if types else "")
        return f"{head}({', '.join(parts)})"

    def _call_head(self, callee: Expr) -> str:
        return bare_name(callee.name) if isinstance(callee, Constructor) else self._head(callee)
