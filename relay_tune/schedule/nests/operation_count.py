"""How many vector instructions the expressions of a nest take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.byte_lookup import looked_up_byte
from relay_tune.tensor.expression import (
    DOT_PRODUCTS,
    INDEX,
    Axis,
    Binary,
    Literal,
    Load,
    Scalar,
    Select,
    Unary,
    Word,
    literal,
)
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import axes_of, loads, operands, replace_nodes, sub_expressions

MAXIMUM_WRITTEN_OUT = 8
MAXIMUM_WRITTEN_POINTS = 64
"""Positions that a tile may cover on one axis, and on all, for the sake of selects."""

MUCH = 4.0
"""Vector instructions that positions share from which on they are not computed apart."""

UNARY = {
    **dict.fromkeys("neg abs not floor ceil trunc round bitnot isnan".split(), 1.0),
    "isinf": 2.0,
    "sign": 5.0,
    "exp2": 10.0,
}
"""Vector instructions of functions of one number; the others take `FUNCTION`."""

LOOKUP = 4.0
"""Vector instructions that look up bytes, about: two halves of a table, and a selection."""

WIDENING = 2.0
"""Vector instructions that make float32 of narrower floats: words of 32 bits, and a shift."""

FUNCTION, DIVISION = 16.0, 8.0
"""Vector instructions of other functions, and of a division or a power, about."""


def written_out_axes(nest: Nest) -> frozenset[Axis]:
    """Short axes of an elementwise nest that decide selects: all their positions share one tile.

    Each position then has a formula of its own, without tests, and formulas share what they have in
    common (the elements of a linear transform). Where they are too many, those with the most
    different tests come first: the positions within a tile before the tiles at the border.
    """
    if nest.body is not None:
        return frozenset()
    selects = (node for node in sub_expressions(nest.result) if isinstance(node, Select))
    conditions = dict.fromkeys(node.condition for node in selects)
    tests = Counter(
        axis
        for condition in conditions
        for axis in dict.fromkeys(_deciding_axes(condition))
        if axis in nest.axes and axis.extent <= MAXIMUM_WRITTEN_OUT
    )
    found, points = set[Axis](), 1
    for axis, _ in tests.most_common():
        if points * axis.extent <= MAXIMUM_WRITTEN_POINTS:
            found.add(axis)
            points *= axis.extent
    others = [axis.extent for axis in nest.axes if axis not in found]
    if max(others, default=1) <= MAXIMUM_WRITTEN_OUT:
        return frozenset()
    return frozenset(found)


def _deciding_axes(condition: Scalar) -> tuple[Axis, ...]:
    """Axes that decide a condition by their positions: elements that are read decide for all."""
    read: dict[Scalar, Scalar] = {load: literal(0, load.dtype) for load in loads(condition)}
    return axes_of(replace_nodes(condition, read))


def selects_by_short_rows(axes: Sequence[Axis], body: Scalar) -> bool:
    """Whether only positions in short rows decide the selects of elements stored row by row.

    They are then written out, so that rows are stored as a whole, not each position by itself.
    """
    if not axes or is_symbolic(axes[-1].extent) or axes[-1].extent > MAXIMUM_WRITTEN_OUT:
        return False
    if all(is_symbolic(a.extent) or a.extent <= MAXIMUM_WRITTEN_OUT for a in axes[:-1]):
        return False
    conditions = [node.condition for node in sub_expressions(body) if isinstance(node, Select)]
    return bool(conditions) and set(axes_of(*conditions)) == {axes[-1]}


def places_share(axes: Sequence[Axis], body: Scalar) -> bool:
    """Whether short axes alone decide selects of elements that compute much of the same.

    Their positions are then written out side by side, not each in a nest of its own.
    """
    selects = [node for node in sub_expressions(body) if isinstance(node, Select)]
    told = {node: set(_deciding_axes(node.condition)) for node in selects}
    deciding = set[Axis]().union(*told.values())
    if not deciding or any(
        is_symbolic(a.extent) or a.extent > MAXIMUM_WRITTEN_OUT for a in deciding
    ):
        return False
    others = [axis.extent for axis in axes if axis not in deciding]
    if any(map(is_symbolic, others)) or max(others, default=1) <= MAXIMUM_WRITTEN_OUT:
        return False
    return any(_shared_instructions(node) >= MUCH for node in selects if told[node])


def _shared_instructions(node: Select) -> float:
    """Vector instructions that both alternatives of a select need."""
    either = sub_expressions(node.if_true), sub_expressions(node.if_false)
    return sum(instructions(each) for each in set(either[0]).intersection(either[1]))


def operation_count(root: Scalar, *, reduced: bool) -> float:
    """Vector instructions for one point; a summed multiplication fuses with the addition.

    Not that of integers, of which only words have such an instruction.
    """
    total = 1.0 if reduced else 0.0
    total += sum(instructions(node) for node in sub_expressions(root))
    if reduced and isinstance(root, Binary) and _is_fused(root):
        total -= 1.0
    return total


def _is_fused(node: Binary) -> bool:
    is_product = node.operation == "mul" and node.dtype.startswith("float")
    return is_product or node.operation in DOT_PRODUCTS


def instructions(node: Scalar) -> float:
    """Vector instructions of a node by itself."""
    match node:
        case Load():
            return LOOKUP if looked_up_byte(node) is not None else 0.0
        case Unary():
            return UNARY.get(node.operation, FUNCTION)
        case Binary(operation="div" | "pow" | "truncdiv" | "floordiv"):
            return 0.0 if node.dtype == INDEX else DIVISION
        case Binary():
            return 0.0 if node.dtype == INDEX else 1.0
        case Select():
            return 1.0
        case Word():
            return len(node.elements) - 1.0
    return 0.0


def shared_operation_count(root: Scalar, written_out: frozenset[Axis]) -> float:
    """Vector instructions for one point, on average over the axes that are written out.

    A node is computed once for each position on those of the axes that occur in it; selects, their
    conditions, and multiplications that an addition takes in cost nothing.
    """
    occurring: dict[Scalar, frozenset[Axis]] = {}
    total = 0.0
    for node in sub_expressions(root):
        below = (occurring[operand] for operand in operands(node))
        occurring[node] = frozenset(axis for axis in written_out if axis is node).union(*below)
        if node.dtype == "bool" or isinstance(node, Select) or _is_scaled(node):
            continue
        total += instructions(node) * prod(axis.extent for axis in occurring[node])
    return total / prod(axis.extent for axis in written_out)


def _is_scaled(node: Scalar) -> bool:
    """Whether a node is something times a number."""
    return isinstance(node, Binary) and node.operation == "mul" and isinstance(node.right, Literal)
