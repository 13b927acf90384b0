"""Tensor expressions as text for people; nothing reads it back.

dense[i, j] = sum(k < 8: x[i, k] * w[j, k])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Cast,
    Literal,
    Load,
    Reduce,
    Reinterpret,
    Scalar,
    Select,
    Tensor,
    Unary,
    Word,
)
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import operands, sub_expressions

INFIX = {
    "eq": ("==", 0),
    "ne": ("!=", 0),
    "lt": ("<", 0),
    "le": ("<=", 0),
    "gt": (">", 0),
    "ge": (">=", 0),
    "add": ("+", 1),
    "sub": ("-", 1),
    "mul": ("*", 2),
    "div": ("/", 2),
    "floordiv": ("//", 2),
    "floormod": ("%", 2),
}
"""The sign of an operation and how strongly it binds."""

ASSOCIATIVE = frozenset({"add", "mul"})


@dataclass(frozen=True, slots=True)
class ScalarText:
    """An expression as text, after the definitions (`name = text`) that it mentions."""

    definitions: tuple[str, ...]
    text: str


def tensor_lines(tensor: Tensor) -> list[str]:
    """The definition of a tensor, or how it is given."""
    sizes = ", ".join(str(size) for size in tensor.shape)
    if not isinstance(tensor, Computed):
        return [f"{tensor.name}: {tensor.dtype}[{sizes}]"]
    value = scalar_text(tensor.body)
    axes = ", ".join(axis.name for axis in tensor.axes)
    head = f"{tensor.name}: {tensor.dtype}[{sizes}]"
    return [head, *(f"  {line}" for line in (*value.definitions, f"[{axes}] = {value.text}"))]


def scalar_text(root: Scalar) -> ScalarText:
    """An expression as text; what is used more than once gets a name, so this stays linear."""
    nodes = sub_expressions(root)
    uses = Counter(operand for node in nodes for operand in operands(node))
    texts: dict[Scalar, str] = {}
    definitions: list[str] = []
    for node in nodes:
        text = node_text(node, [_part(node, operand, texts) for operand in operands(node)])
        if uses[node] > 1 and _is_computation(node):
            definitions.append(f"t{len(definitions)} = {text}")
            text = f"t{len(definitions) - 1}"
        texts[node] = text
    return ScalarText(tuple(definitions), texts[root])


def node_text(node: Scalar, parts: Sequence[str]) -> str:
    """One node as text, given the texts of its operands."""
    match node:
        case Axis():
            return node.name
        case Literal(value=float() as value):
            return f"{value:g}"
        case Literal():
            return str(node.value)
        case Load():
            return f"{node.tensor.name}[{', '.join(parts)}]"
        case Binary() if node.operation in INFIX:
            return f"{parts[0]} {INFIX[node.operation][0]} {parts[1]}"
        case Unary() | Binary():
            return f"{node.operation}({', '.join(parts)})"
        case Select():
            return f"select({', '.join(parts)})"
        case Cast():
            return f"{node.dtype}({parts[0]})"
        case Reinterpret():
            return f"{node.dtype} bits({parts[0]})"
        case Word():
            return f"word({', '.join(parts)})"
        case Reduce():
            axes = ", ".join(f"{axis.name} < {axis.extent}" for axis in node.axes)
            return f"{node.operation}({axes}: {parts[0]})"
    return type(node).__name__


def _part(parent: Scalar, operand: Scalar, texts: Mapping[Scalar, str]) -> str:
    """The text of an operand, in brackets where it would be read wrongly."""
    text = texts[operand]
    match parent, operand:
        case Binary(), Binary() if parent.operation in INFIX and operand.operation in INFIX:
            is_named = " " not in text
            return text if is_named or _binds(parent, operand) else f"({text})"
    return text


def _binds(parent: Binary, operand: Binary) -> bool:
    """Whether `operand` needs no brackets inside `parent`."""
    outer, inner = INFIX[parent.operation][1], INFIX[operand.operation][1]
    if outer != inner:
        return inner > outer
    if operand is parent.left:
        return outer > 0
    return parent.operation == operand.operation and parent.operation in ASSOCIATIVE


def _is_computation(node: Scalar) -> bool:
    return bool(operands(node)) and not isinstance(node, Load)
