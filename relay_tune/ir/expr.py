"""The expressions of Relay.

    expr    ::= var | @global | constant | (expr, ...) | expr.index | fn (var, ...) { expr }
              | expr(expr, ..., attributes) | let var = expr; expr | if (expr) {expr} else {expr}
              | ref(expr) | ref_read(expr) | ref_write(expr, expr)
              | match (expr) { pattern => expr, ... } | Constructor | operator
    pattern ::= _ | var | Constructor(pattern, ...) | (pattern, ...)

A program is a graph with sharing and may be very deep, so nodes are compared and hashed by
identity; `relay_tune.ir.structural` compares by structure up to renaming. Nodes are frozen: `type`
(filled by inference, which builds a new graph) and `span` say something about a node and are part
of no comparison. A node that is made in place of another one inherits its span
(`relay_tune.ir.provenance`).

Expressions can be written with Python's operators, `x + 1`, `-x`, `x < y`, `f(x)`; a Python number
is a float32, int32 or bool scalar. `==` stays what Python makes of objects: identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from relay_tune.errors import InputError, Span
from relay_tune.ir.operator_table import OPERATORS
from relay_tune.ir.provenance import inherited_span
from relay_tune.ir.types import GlobalTypeVar, Type, TypeVar
from relay_tune.quick_dataclass import dataclass

AttributeValue = (
    None | bool | int | float | str | tuple["AttributeValue", ...] | list["AttributeValue"]
)

NO_ATTRIBUTES: Mapping[str, AttributeValue] = MappingProxyType({})


LONGEST_SHOWN = 1000
"""Bits of a whole number that a message shows."""


ABSENT_FROM_KEYS = MappingProxyType({"absent_from_keys": True})
"""Metadata of an attribute that keys of primitives leave out where it has its default value.

Of those that were added later: what logs know of other primitives stays theirs.
"""


@dataclass(frozen=True)
class Attributes:
    """Base of the operators' attribute records: frozen dataclasses of plain values.

    Lists become tuples, so that attributes that say the same are equal.
    """

    def __post_init__(self) -> None:
        for attribute in fields(self):
            value = getattr(self, attribute.name)
            if isinstance(value, list | tuple):
                object.__setattr__(self, attribute.name, _as_tuple(value))


def _as_tuple(value: list[Any] | tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_as_tuple(part) if isinstance(part, list | tuple) else part for part in value)


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Expr:
    """Base of all expressions."""

    type: Type | None = field(default=None)
    span: Span | None = field(default_factory=inherited_span)

    __array_ufunc__ = None  # numpy leaves `array + expr` to the expression

    def __repr__(self) -> str:
        return f"<{type_name(self)}>"

    def __call__(self, *arguments: Expr) -> Call:
        """A call of this function."""
        return Call(self, arguments)

    def __add__(self, other: Operand) -> Expr:
        return _operation("add", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return _operation("add", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return _operation("subtract", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return _operation("subtract", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return _operation("multiply", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return _operation("multiply", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return _operation("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return _operation("divide", other, self)

    def __lt__(self, other: Operand) -> Expr:
        return _operation("less", self, other)

    def __le__(self, other: Operand) -> Expr:
        return _operation("less_equal", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return _operation("greater", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return _operation("greater_equal", self, other)

    def __neg__(self) -> Expr:
        return _operation("negative", self)

    def astype(self, dtype: str) -> Expr:
        """This tensor with another element type."""
        return _operation("cast", self, dtype=dtype)


Operand = Expr | np.ndarray | np.generic | float | int | bool
"""The other operand types of Python's operators on expressions."""


def _operation(name: str, *operands: Operand, **attributes: str) -> Expr:
    """A call of the operator `name`; InputError if operators are not loaded."""
    operator = OPERATORS.get(name)
    if operator is None:
        raise InputError(
            f"The operator {name} is not loaded.", remedy="Write `import relay_tune.op` before."
        )
    exprs = (part if isinstance(part, Expr) else constant(part) for part in operands)
    call: Expr = operator(*exprs, **attributes)
    return call


def type_name(node: object) -> str:
    """The class name of a node, for messages."""
    return node.__class__.__name__


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Var(Expr):
    """A local variable; two variables of one name are different."""

    name: str
    annotation: Type | None = None

    def __repr__(self) -> str:
        return f"%{self.name}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GlobalVar(Expr):
    """The name of a function of the module."""

    name: str

    def __repr__(self) -> str:
        return f"@{self.name}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant(Expr):
    """A tensor value; `data` must not be written to."""

    data: np.ndarray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tuple(Expr):
    """`(a, b)`."""

    fields: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TupleGetItem(Expr):
    """`tuple.index`."""

    tuple_value: Expr
    index: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Function(Expr):
    """A function value: a global's body, a closure, or (attribute Primitive=1) a fused kernel."""

    params: tuple[Var, ...]
    body: Expr
    result_type: Type | None = None
    type_params: tuple[TypeVar, ...] = ()
    attributes: Mapping[str, AttributeValue] = field(default_factory=lambda: NO_ATTRIBUTES)

    @property
    def is_primitive(self) -> bool:
        """Whether this is a fused function, compiled as one kernel."""
        return self.attributes.get("Primitive") == 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Expr):
    """`callee(arguments)`; `attributes` only where the callee is an operator."""

    callee: Expr
    arguments: tuple[Expr, ...]
    attributes: Attributes | None = None
    type_arguments: tuple[Type, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Let(Expr):
    """`let var = value; body`; a function value may refer to `var`."""

    var: Var
    value: Expr
    body: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class If(Expr):
    """`if (condition) { ... } else { ... }` on a scalar bool."""

    condition: Expr
    true_branch: Expr
    false_branch: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RefCreate(Expr):
    """`ref(value)`: a new mutable cell."""

    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RefRead(Expr):
    """`ref_read(ref)`."""

    ref: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RefWrite(Expr):
    """`ref_write(ref, value)`, of unit type."""

    ref: Expr
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constructor(Expr):
    """A constructor of an algebraic data type; compare by `belongs_to` and `name`."""

    name: str
    inputs: tuple[Type, ...]
    belongs_to: GlobalTypeVar
    tag: int

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Base of the patterns of `match`."""


@dataclass(frozen=True, slots=True, eq=False)
class WildcardPattern(Pattern):
    """`_`."""


@dataclass(frozen=True, slots=True, eq=False)
class VarPattern(Pattern):
    """`%x`: matches anything and binds it."""

    var: Var


@dataclass(frozen=True, slots=True, eq=False)
class ConstructorPattern(Pattern):
    """`Cons(p, q)`."""

    constructor: Constructor
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TuplePattern(Pattern):
    """`(p, q)`."""

    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Clause:
    """`pattern => body`."""

    pattern: Pattern
    body: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Match(Expr):
    """`match (value) { clauses }`; not `complete` is written `match?`."""

    value: Expr
    clauses: tuple[Clause, ...]
    complete: bool = True


def constant(
    value: np.ndarray | np.generic | float | int | bool, dtype: str | None = None
) -> Constant:
    """A constant from an array or a Python scalar (float -> float32, int -> int32, bool)."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        return Constant(value if dtype is None else value.astype(dtype))
    if dtype is None:
        dtype = (
            "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
        )
    try:
        return Constant(np.asarray(value, dtype=dtype))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{_shown(value)} is no constant of type {dtype}: {error}.",
            remedy="Give an array or a number that the type can hold.",
        ) from error


def _shown(value: object) -> str:
    """A value in a message; Python writes no integers of more than 4300 digits."""
    if isinstance(value, int) and value.bit_length() > LONGEST_SHOWN:
        return f"A whole number of {value.bit_length()} bits"
    return repr(value)
