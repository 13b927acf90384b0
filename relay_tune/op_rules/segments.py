"""Some rows of a tensor, computed of the same rows of others.

rows 0 to 4 of  add(nn.dense(%x, %w), %b)  are  add(nn.dense(%x[0:4], %w), %b)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.fold.layers import layer_of_argument
from relay_tune.op_rules.matching import attribute, operator_call, rank, static_shape, tensor_type
from relay_tune.op_rules.row_sums import SCATTERED, RowTotal, row_sum
from relay_tune.op_rules.simplify.joining import join_slices
from relay_tune.op_rules.simplify.slicing import drop_whole_slice
from relay_tune.op_rules.sums.concatenations import Concatenations
from relay_tune.op_rules.typed import call, call_operator, recall, slice_of, tuple_of
from relay_tune.quick_dataclass import dataclass

RowsOf = Callable[[Expr], Expr]
"""Some rows of an operand."""


@dataclass(frozen=True)
class Joined:
    """A concatenation.

    Attributes:
        parts: what is put together.
        axis: along which.
    """

    parts: tuple[Expr, ...]
    axis: int

    @staticmethod
    def of(node: Expr) -> Joined | None:
        """A node as a concatenation; None if it is none."""
        joined = operator_call(node, "concatenate")
        fields = None if joined is None else joined.arguments[0]
        if joined is None or not isinstance(fields, Tuple) or static_shape(joined) is None:
            return None
        return Joined(fields.fields, attribute(joined, "axis") % (rank(joined) or 1))

    def between(self, begin: int, end: int) -> list[Expr] | None:
        """The parts that are these elements of the axis; None if they are none."""
        first, inside = 0, []
        for part in self.parts:
            size = (static_shape(part) or ())[self.axis]
            if begin < first + size and first < end:
                if first < begin or first + size > end:
                    return None
                inside.append(part)
            first += size
        return inside


def joined_parts(node: Expr) -> Expr | None:
    """A concatenation of slices that follow each other, as one slice; None if it is none."""
    joined = operator_call(node, "concatenate")
    found = None if joined is None else join_slices(joined)
    sliced = None if found is None else operator_call(found, "strided_slice")
    return found if sliced is None else drop_whole_slice(sliced) or found


@dataclass(frozen=True)
class RowProduct:
    """A sum over equal rows of tensors.

    Attributes:
        rows: the tensors.
        total: the sum, as `relay_tune.op_rules.row_sums` has it.
        type: of the sum.
    """

    rows: tuple[Expr, ...]
    total: RowTotal
    type: TensorType

    def of(self, rows: Sequence[Expr]) -> Expr:
        """The sum over rows of other tensors."""
        return self.total.of(rows, self.type)


def product_of_rows(node: Expr) -> RowProduct | None:
    """A node as products of rows, or rows, that are added up; None if it is none."""
    found, type_ = row_sum(node), tensor_type(node)
    if found is None or type_ is None or found.total is SCATTERED:
        return None
    return RowProduct(found.rows, found.total, type_)


def joined_rows(node: Expr) -> tuple[Expr, ...] | None:
    """The parts of a concatenation of rows; None if a node is none."""
    joined = Joined.of(node)
    if joined is None or joined.axis:
        return None
    return tuple(part for each in joined.parts for part in joined_rows(each) or (each,))


def rows_of(node: Expr, begin: int, end: int, concatenations: Concatenations) -> Expr:
    """Rows of a tensor: a concatenation of its parts, or a slice."""
    parts = joined_rows(node)
    first, inside = 0, []
    for part in parts or ():
        size = (static_shape(part) or (0,))[0]
        if first < end and first + size > begin:
            if first < begin or first + size > end:
                return slice_rows(node, begin, end)
            inside.append(part)
        first += size
    return concatenations.of(inside, 0) if inside else slice_rows(node, begin, end)


def slice_call(node: Expr) -> Call | None:
    """A node as a slice of a tensor; None if it is none."""
    return operator_call(node, "strided_slice")


def slice_rows(node: Expr, begin: int, end: int) -> Expr:
    """Rows of a tensor as a slice; the tensor where these are all."""
    shape = static_shape(node) or ()
    if (begin, end) == (0, shape[0]):
        return node
    return slice_of(node, (begin, *(0 for _ in shape[1:])), (end, *shape[1:]))


def is_elementwise(node: Expr) -> bool:
    """Whether a call computes each element of the elements of operands at the same indices.

    Operands of fewer axes have the last ones.
    """
    if not isinstance(node, Call) or not isinstance(node.callee, Operator):
        return False
    if node.callee.kind > FusionKind.BROADCAST or node.callee.stateful:
        return False
    shape = static_shape(node)
    shapes = [static_shape(each) for each in node.arguments]
    if shape is None or attribute(node, "axis", -1) not in (-1, len(shape) - 1):
        return False
    return all(each is not None and _fits(each, shape) for each in shapes)


def _fits(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether a shape is repeated to a whole one, with its last axes."""
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    return len(shape) <= len(whole) and all(size in (1, other) for size, other in pairs)


def is_by_rows(node: Expr) -> bool:
    """Whether a call computes each row of the same rows of operands."""
    return is_elementwise(node) or layer_of_argument(node) is not None


def row_operands(node: Call) -> list[bool]:
    """Which operands of a call by rows have the rows of the result; it needs the others whole."""
    if not is_elementwise(node):
        return [number == 0 for number in range(len(node.arguments))]
    shape = static_shape(node) or ()
    shapes = [static_shape(each) or () for each in node.arguments]
    return [len(each) == len(shape) and each[0] == shape[0] for each in shapes]


def by_rows(node: Call, rows: RowsOf) -> Call:
    """A call by rows for some rows of its operands."""
    own = row_operands(node)
    arguments = [
        rows(each) if is_own else each for each, is_own in zip(node.arguments, own, strict=True)
    ]
    return recall(node, arguments)


def stacked(node: Call, arguments: Sequence[Expr]) -> Call:
    """A call like another one, whose operands have other shapes."""
    assert isinstance(node.callee, Operator)
    return call_operator(node.callee, arguments, node.attributes)


def kept_apart(value: Expr, after: Sequence[Expr] = ()) -> Call:
    """A value in no kernel with what reads it, which begins when the tensors `after` are known."""
    return call("again", value, tuple_of(after))


def is_kept_apart(node: Expr) -> bool:
    """Whether a node is such a value."""
    return operator_call(node, "again") is not None
