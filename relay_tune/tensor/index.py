"""Index expressions: flattening accesses, simplifying divisions, splitting and fusing axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import copysign
from types import MappingProxyType

import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import (
    AFFINE_OPERATIONS,
    Affine,
    Variable,
    axis_affine,
    combined,
    flat_form,
    split_quotient,
    variable,
)
from relay_tune.tensor.divided_sums import rejoined
from relay_tune.tensor.expression import (
    COMPARISONS,
    INDEX,
    Axis,
    Binary,
    Cast,
    Literal,
    Load,
    Scalar,
    Select,
    Tensor,
    index_value,
    literal,
)
from relay_tune.tensor.scalar_semantics import convert
from relay_tune.tensor.size import is_integer, is_multiple, nominal, surely_less
from relay_tune.tensor.tensor import stored
from relay_tune.tensor.walk import operands, rebuild, sub_expressions, transform


def axis_range(variable: Variable) -> tuple[int, int]:
    """The values of an axis."""
    assert isinstance(variable, Axis)
    return 0, variable.extent - 1


def expression_of(form: Affine) -> Scalar:
    """An affine form over axes as an index expression."""
    total: Scalar | None = None
    for axis, factor in form.terms.items():
        assert isinstance(axis, Axis)
        is_one = factor == 1
        term = axis if is_one else Binary("mul", axis, literal(factor, INDEX), dtype=INDEX)
        total = term if total is None else Binary("add", total, term, dtype=INDEX)
    if total is None:
        return literal(form.constant, INDEX)
    return total + form.constant


def simplify(root: Scalar, axes: Mapping[Axis, Scalar] = MappingProxyType({})) -> Scalar:
    """`root` with divisions of indices carried out, decided selects taken, sums in one form.

    `axes` are replaced by expressions first.
    """
    return _Simplifier(axes).simplified(root)


class _Simplifier:
    """One pass over an expression.

    Sums are kept as forms: only what is no part of a longer sum becomes an expression.
    """

    def __init__(self, axes: Mapping[Axis, Scalar]) -> None:
        self._axes = axes
        self._forms: dict[Scalar, Affine | None] = {}
        self._done: dict[Scalar, Scalar] = {}

    def simplified(self, root: Scalar) -> Scalar:
        """The simplified root."""
        for node in sub_expressions(root):
            form = self._form(node) if node.dtype == INDEX else None
            if form is None:
                is_number = isinstance(node, Literal)
                self._done[node] = new = node if is_number else self._simplified(node)
                form = self._new_form(node, new)
            self._forms[node] = form
        return self._expression(root)

    def _new_form(self, node: Scalar, new: Scalar) -> Affine | None:
        """The form of what replaces a node that had none itself."""
        if new.dtype != INDEX:
            return None
        if isinstance(node, Binary) and isinstance(new, Binary):
            inner = self._done.get(node.left), self._done.get(node.right)
            # The same operation on the same operands has none either; to read it takes long.
            if new.operation == node.operation and (new.left, new.right) == inner:
                return None
        return axis_affine(new)

    def _form(self, node: Scalar) -> Affine | None:
        """The form of an index: of an axis, or of a sum, product or quotient of forms."""
        if isinstance(node, Axis):
            replaced = self._axes.get(node)
            return variable(node) if replaced is None else axis_affine(replaced)
        if not isinstance(node, Binary):
            return None
        left, right = self._forms[node.left], self._forms[node.right]
        if left is None or right is None:
            return None
        if node.operation in AFFINE_OPERATIONS:
            return combined(node.operation, left, right)
        if node.operation not in ("floordiv", "floormod") or not right.is_constant:
            return None
        parts = split_quotient(left, right.constant, axis_range) if right.constant > 0 else None
        return None if parts is None else parts[node.operation == "floormod"]

    def _expression(self, node: Scalar) -> Scalar:
        """The expression that replaces a node."""
        found = self._done.get(node)
        if found is None:
            form = self._forms[node]
            assert form is not None
            found = self._done[node] = expression_of(form)
        return found

    def _simplified(self, node: Scalar) -> Scalar:
        """A node that is no form, of simplified operands."""
        inner = operands(node)
        if not inner:
            replaced = self._axes.get(node) if isinstance(node, Axis) else None
            return node if replaced is None else simplify(replaced)
        simplified = tuple(map(self._expression, inner))
        new = node if simplified == inner else rebuild(node, simplified)
        if isinstance(new, Binary):
            return new.left if _subtracts_nothing(new) else rejoined(new)
        if isinstance(new, Cast):
            return _converted(new)
        if not isinstance(new, Select):
            return new
        decided = decide(new.condition)
        if decided is None:
            return new
        return new.if_true if decided else new.if_false


def _subtracts_nothing(node: Binary) -> bool:
    """Whether a node is something less the number 0; minus zero would change the sign of a zero."""
    right = node.right
    if node.operation != "sub" or not isinstance(right, Literal) or right.value != 0:
        return False
    return copysign(1.0, float(right.value)) > 0


def _converted(node: Cast) -> Scalar:
    """A conversion, carried out for a number."""
    number = node.operand
    if not isinstance(number, Literal) or INDEX in (node.dtype, number.dtype):
        return node
    if not isinstance(number.value, int) or isinstance(number.value, bool):
        return node
    return literal(convert(np.array(number.value), node.dtype).item(), node.dtype)


def decide(condition: Scalar) -> bool | None:
    """The truth of a condition on axes where their extents settle it, else None."""
    if not isinstance(condition, Binary):
        return None
    if condition.operation in ("and", "or"):
        sides = (decide(condition.left), decide(condition.right))
        settled = condition.operation == "or"
        if settled in sides:
            return settled
        return None if None in sides else not settled
    if condition.operation not in COMPARISONS or condition.left.dtype != INDEX:
        return None
    left, right = axis_affine(condition.left), axis_affine(condition.right)
    if left is None or right is None:
        return None
    low, high = (left + right.scale(-1)).bounds(axis_range)
    return decide_difference(condition.operation, low, high)


def decide_difference(operation: str, low: int, high: int) -> bool | None:
    """Whether `left operation right` holds for all or no left - right in low .. high."""
    above, below = surely_less(0, low), surely_less(high, 0)
    match operation:
        case "lt":
            return True if below else False if surely_less(-1, low) else None
        case "le":
            return True if surely_less(high, 1) else False if above else None
        case "gt":
            return True if above else False if surely_less(high, 1) else None
        case "ge":
            return True if surely_less(-1, low) else False if below else None
        case "eq":
            return True if low == high == 0 else False if above or below else None
    return True if above or below else False if low == high == 0 else None


def flat_index(shape: Sequence[int], indices: Sequence[Scalar]) -> Scalar:
    """The row-major element offset of an access."""
    total: Scalar = index_value(0)
    stride = 1
    for index, extent in zip(reversed(indices), reversed(shape), strict=True):
        total = total + index * stride
        stride *= extent
    return total


def flat_place(shape: Sequence[int], indices: Sequence[Scalar]) -> Scalar:
    """The row-major element offset of an access, simplified."""
    form = flat_form(shape, indices)
    return simplify(flat_index(shape, indices)) if form is None else expression_of(form)


@dataclass(frozen=True, eq=False, slots=True)
class FlatView(Tensor):
    """A tensor seen as its elements, or as its words, in row-major order."""

    viewed: Tensor


class FlatTensors:
    """One-dimensional views of tensors, one for each."""

    def __init__(self) -> None:
        self.views: dict[Tensor, FlatView] = {}

    def view(self, tensor: Tensor) -> FlatView:
        """The flat view of a tensor (a flat view's own view is itself)."""
        if isinstance(tensor, FlatView):
            return tensor
        known = self.views.get(tensor)
        if known is None:
            size = 1
            for extent in tensor.shape:
                size *= extent
            known = FlatView(
                name=tensor.name, shape=(size,), dtype=tensor.dtype, viewed=stored(tensor)
            )
            self.views[tensor] = known
        return known

    def flatten(self, root: Scalar, kept: Tensor | None = None) -> Scalar:
        """`root` with every load going through a flat view, but those of `kept`."""

        def visit(node: Scalar) -> Scalar:
            if not isinstance(node, Load) or isinstance(node.tensor, FlatView):
                return node
            if node.tensor is kept:
                return node
            index = flat_place(node.tensor.shape, node.indices)
            return Load(self.view(node.tensor), (index,), dtype=node.dtype)

        return transform(root, visit)


def divided_axis(root: Scalar) -> tuple[Axis, int] | None:
    """An axis and the size of its inner part, such that splitting it removes a division."""
    for node in sub_expressions(root):
        match node:
            case Binary(
                operation="floordiv" | "floormod",
                dtype="int64",
                left=left,
                right=Literal(value=divisor),
            ):
                form = axis_affine(left)
                if form is None or not is_integer(divisor):
                    continue
                found = _split_for(form, divisor)
                if found is not None:
                    return found
    return None


def _split_for(form: Affine, divisor: int) -> tuple[Axis, int] | None:
    for axis, factor in form.terms.items():
        if not isinstance(axis, Axis) or factor <= 0 or not is_multiple(divisor, factor):
            continue
        inner = divisor // factor
        is_whole = inner in (1, axis.extent) or surely_less(axis.extent, 1)
        if not is_whole and is_multiple(axis.extent, inner):
            return axis, inner
    return None


def can_fuse(outer: Axis, inner: Axis, roots: Sequence[Scalar]) -> bool:
    """Whether two axes only ever occur as `outer * inner.extent + inner`."""
    for root in roots:
        if root.dtype == INDEX and not _occurs_as_one(root, outer, inner):
            return False
        for node in sub_expressions(root):
            if not isinstance(node, Load):
                if not _fusible_elsewhere(node, outer, inner):
                    return False
                continue
            if not all(_occurs_as_one(index, outer, inner) for index in node.indices):
                return False
    return True


def _occurs_as_one(index: Scalar, outer: Axis, inner: Axis) -> bool:
    """Whether an index treats two axes as `outer * inner.extent + inner`."""
    form = axis_affine(index)
    if form is None:
        return not {outer, inner} & _axes(index)
    return form.coefficient(outer) == form.coefficient(inner) * inner.extent


def _fusible_elsewhere(node: Scalar, outer: Axis, inner: Axis) -> bool:
    """Index values that serve another purpose than a load must treat the axes as one, too."""
    if isinstance(node, Binary) and node.dtype == INDEX and node.operation in ("add", "sub", "mul"):
        return True  # part of a larger index
    return all(
        side.dtype != INDEX or isinstance(side, Load) or _occurs_as_one(side, outer, inner)
        for side in operands(node)
    )


def _axes(root: Scalar) -> set[Axis]:
    return {node for node in sub_expressions(root) if isinstance(node, Axis)}


def _magnitude(factor: int) -> int:
    """The absolute value; `factor` itself where its sign is open, which no step then exceeds."""
    return -factor if surely_less(factor, 0) else factor


def is_injective(form: Affine, axes: Sequence[Axis]) -> bool:
    """Whether different points of `axes` (extents > 1) have different values of `form`."""
    steps = [
        (_magnitude(form.coefficient(axis)), axis.extent)
        for axis in axes
        if not surely_less(axis.extent, 2)
    ]
    steps.sort(key=lambda step: (nominal(step[0]), nominal(step[1])))
    reach = 1
    for factor, extent in steps:
        if not surely_less(reach - 1, factor):
            return False
        reach = factor * (extent - 1) + reach
    return True
