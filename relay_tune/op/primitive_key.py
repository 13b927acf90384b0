"""Keys of primitive functions: equal for equal work, whatever their names and weights.

The key of a primitive is a digest of its canonical text: operators, attributes and types, nodes
numbered in order of evaluation. Constants count by shape and element type; only those of rank 0,
which become part of the code, count by value.

>>> from relay_tune.ir.expr import Function, Var
>>> from relay_tune.ir.types import TensorType
>>> row = TensorType((4,), "float32")
>>> primitive_key(Function((Var("x", row, type=row),), Var("y", row, type=row))).title
'copy 4'
"""

from __future__ import annotations

import hashlib
from dataclasses import Field, field, fields

import numpy as np

from relay_tune.ir.expr import (
    ABSENT_FROM_KEYS,
    Attributes,
    Call,
    Constant,
    Expr,
    Function,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    type_name,
)
from relay_tune.ir.known_type import known_type
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op.bounded_constants import bounded_dimensions
from relay_tune.op.decisive import is_decisive
from relay_tune.op.logical_shape import Shape, logical_shape
from relay_tune.op.spaced_inputs import spaced_inputs
from relay_tune.quick_dataclass import dataclass

DIGEST_CHARACTERS = 24
TITLE_OPERATORS = 4
LONGEST_SIZE = 20
"""Characters of a dynamic size in a title."""


@dataclass(frozen=True, slots=True)
class PrimitiveKey:
    """The identity of a primitive.

    Attributes:
        digest: hexadecimal, the same in every process and on every machine.
        title: a short name for people, such as `conv2d+add+relu 1x64x56x56`; not unique, and no
            part of comparisons.
    """

    digest: str
    title: str = field(compare=False)


def primitive_key(function: Function) -> PrimitiveKey:
    """The key of a typed primitive function."""
    text = canonical_text(function)
    digest = hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARACTERS]
    return PrimitiveKey(digest, primitive_title(function))


def primitive_title(function: Function) -> str:
    """The operators of a primitive and the shape of its result, as the user's program has it."""
    shape = logical_shape(function)
    sizes = "" if shape is None else _shape_text(shape)
    return f"{operators_text(function)} {sizes}".strip()


def _shape_text(shape: Shape) -> str:
    """A shape such as 1x64x56x56, or (n, 64, h // 2, ..) with dynamic sizes; .. are long ones."""
    if all(isinstance(size, int) for size in shape):
        return "x".join(map(str, shape)) or "scalar"
    sizes = [str(size) for size in shape]
    shown = [size if len(size) <= LONGEST_SIZE else ".." for size in sizes]
    return f"({', '.join(shown)}{',' * (len(shown) == 1)})"


def operators_text(function: Function) -> str:
    """The operators of a primitive, such as conv2d+bias_add+relu."""
    operators = [
        node.callee.name.removeprefix("nn.")
        for node in post_order(function.body)
        if isinstance(node, Call) and isinstance(node.callee, Operator)
    ]
    shown = operators[:TITLE_OPERATORS]
    if len(operators) > len(shown):
        shown.append(f"{len(operators) - len(shown)} more")
    return "+".join(shown) or "copy"


def canonical_text(function: Function) -> str:
    """A primitive in lines that depend neither on names nor on the values of weights."""
    nodes = list(post_order(function.body))
    bindings = {node.var: node.value for node in nodes if isinstance(node, Let)}
    names: dict[Expr, str] = {param: f"p{n}" for n, param in enumerate(function.params)}
    lines = [f"p{n}: {_type_text(known_type(param))}" for n, param in enumerate(function.params)]
    for node in nodes:
        alias = _alias(node, bindings)
        if alias is not None:
            names[node] = names[alias]
        elif node not in names and not isinstance(node, Operator):
            names[node] = f"v{len(names)}"
            lines.append(f"{names[node]} = {_node_text(node, names)}")
    spaced = [f" p{position} spaced along {n}" for position, n in spaced_inputs(function).items()]
    bounded = [f" constant {n} bounded along {d}" for n, d in bounded_dimensions(function)]
    decisive = [" decisive"] if is_decisive(function) else []
    lines.append(f"return {names[function.body]}{''.join((*spaced, *bounded, *decisive))}")
    return "\n".join(lines)


def _alias(node: Expr, bindings: dict[Var, Expr]) -> Expr | None:
    """The expression that `node` is only another name of."""
    match node:
        case Var():
            return bindings.get(node)
        case Let():
            return node.body
        case _:
            return None


def _node_text(node: Expr, names: dict[Expr, str]) -> str:
    match node:
        case Constant():
            return _constant_text(node.data)
        case Tuple():
            return f"tuple({', '.join(names[field] for field in node.fields)})"
        case TupleGetItem():
            return f"{names[node.tuple_value]}.{node.index}"
        case Call(callee=Operator() as operator):
            arguments = ", ".join(names[argument] for argument in node.arguments)
            attributes = _attributes_text(node.attributes)
            return f"{operator.name}({arguments}){attributes}: {_type_text(node.type)}"
        case _:
            return f"{type_name(node)}: {_type_text(known_type(node))}"


def _constant_text(data: np.ndarray) -> str:
    if data.ndim:
        return f"constant {data.dtype.name}[{', '.join(map(str, data.shape))}]"
    return f"constant {data.dtype.name} {data.tobytes().hex()}"


def _attributes_text(attributes: Attributes | None) -> str:
    if attributes is None:
        return ""
    known = (each for each in fields(attributes) if not _is_absent(each, attributes))
    pairs = ((each.name, getattr(attributes, each.name)) for each in known)
    return "{" + ", ".join(f"{name}={_value_text(value)}" for name, value in sorted(pairs)) + "}"


def _is_absent(attribute: Field[object], attributes: Attributes) -> bool:
    """Whether an attribute has its default value and is of those that keys then leave out."""
    is_left_out = ABSENT_FROM_KEYS.items() <= attribute.metadata.items()
    return is_left_out and getattr(attributes, attribute.name) == attribute.default


def _value_text(value: object) -> str:
    """An attribute as text; numpy's numbers and lists read as Python's and tuples."""
    match value:
        case tuple() | list():
            return "(" + ", ".join(_value_text(part) for part in value) + ")"
        case np.generic():
            return repr(value.item())
        case _:
            return repr(value)


def _type_text(type_: Type | None) -> str:
    match type_:
        case TensorType():
            return f"{type_.dtype}[{', '.join(str(dim) for dim in type_.shape)}]"
        case TupleType():
            return f"({', '.join(_type_text(field) for field in type_.fields)})"
        case _:
            return "?"
