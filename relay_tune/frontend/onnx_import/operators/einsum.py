"""Sums of products in Einstein's notation, as matrix products, products and sums.

Each axis of an input has a label; an axis that `...` stands for is labelled by its index from the
right. Labels that one input has twice become its diagonal, labels that nobody needs later are
summed at once, and the inputs are then joined two at a time, from the left: `ij,jk,jl->ikl` joins
`ij` and `jk` by a product that keeps j as a batch axis, and the result with `jl` by one that sums
over it.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, shape_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import (
    Size,
    known_size,
    known_sizes,
    positions_below,
    size_product,
    size_value,
)
from relay_tune.frontend.onnx_import.operators.reshape import reshape_to_known
from relay_tune.frontend.onnx_import.types import is_float
from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass

Label = str | int
Labels = tuple[Label, ...]

ELLIPSIS = "..."
LONGEST_EQUATION = 256


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor with a label for each axis; no label twice."""

    data: Expr
    labels: Labels

    def size(self, label: Label) -> Dim:
        """The size of the axis with this label."""
        return shape_of(self.data)[self.labels.index(label)]


def translate_einsum(node: OnnxNode, build: Builder) -> Expr:
    """A sum of products in Einstein's notation."""
    return _product_of(build, node.all_inputs(), node.text("equation"))


def einsum(inputs: Sequence[Expr], equation: str) -> Expr:
    """The same for typed tensors that belong to no file; ModelError where it does not fit them."""
    build = Builder()
    return build.binding(_product_of(build, inputs, equation))


def _product_of(build: Builder, inputs: Sequence[Expr], equation: str) -> Expr:
    equation = "".join(equation.split())
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    allowed = all(
        letter.isalpha() for letter in (left + right).replace(ELLIPSIS, "") if letter != ","
    )
    if not allowed or len(terms) != len(inputs) or len(equation) > LONGEST_EQUATION:
        raise ModelError(f"the equation {equation!r} does not fit {len(inputs)} inputs.")
    labelled = [_labels(term, rank_of(data)) for term, data in zip(terms, inputs, strict=True)]
    output = _output_labels(right, labelled) if arrow else _implicit_output(left, labelled)
    operands = [
        _diagonal(build, data, labels) for data, labels in zip(inputs, labelled, strict=True)
    ]
    return _in_order(build, _joined(build, operands, output), output)


def _labels(term: str, rank: int) -> Labels:
    before, dots, after = term.partition(ELLIPSIS)
    hidden = rank - len(before) - len(after)
    if ELLIPSIS in after or hidden < 0 or (hidden and not dots):
        raise ModelError(f"the term {term!r} does not fit {rank} axes.")
    return (*before, *range(-hidden, 0), *after)


def _hidden(labelled: Sequence[Labels]) -> list[int]:
    """The labels of all axes that `...` stands for, in their order."""
    return sorted({label for labels in labelled for label in labels if isinstance(label, int)})


def _output_labels(term: str, labelled: Sequence[Labels]) -> Labels:
    before, dots, after = term.partition(ELLIPSIS)
    hidden = _hidden(labelled)
    if hidden and not dots:
        raise ModelError(f"the output {term!r} must name the axes of '...' as the inputs do.")
    output = (*before, *hidden, *after)
    known = {label for labels in labelled for label in labels}
    if len(set(output)) != len(output) or not known.issuperset(output) or ELLIPSIS in after:
        raise ModelError(f"the output {term!r} must name labels of the inputs, each once.")
    return output


def _implicit_output(terms: str, labelled: Sequence[Labels]) -> Labels:
    """The axes of `...`, then the labels that occur once, in alphabetical order."""
    return (*_hidden(labelled), *sorted(each for each in set(terms) if _occurs_once(terms, each)))


def _occurs_once(terms: str, letter: str) -> bool:
    return letter.isalpha() and terms.count(letter) == 1


def _diagonal(build: Builder, data: Expr, labels: Labels) -> Operand:
    """The elements whose indices agree on all axes of the same label.

    Two axes of size n are moved to the front and joined; every (n + 1)-th element is on the
    diagonal, also where only a run knows n.
    """
    repeated = next((label for label in labels if labels.count(label) > 1), None)
    if repeated is None:
        return Operand(data, labels)
    first, second = [axis for axis, label in enumerate(labels) if label == repeated][:2]
    rest = [axis for axis in range(len(labels)) if axis not in (first, second)]
    sizes = shape_of(data)
    size = _common_size(repeated, sizes[first], sizes[second])
    if size is not None:
        data = _with_size(build, Operand(data, labels), repeated, size).data
    data = build.call("transpose", data, axes=(first, second, *rest))
    count, _, *kept = known_sizes(build, data)
    joined = (size_product(build, (count, count)), *kept)
    data = reshape_to_known(build, data, joined, is_checked=True)
    data = _every(build, data, count)
    return _diagonal(build, data, (repeated, *(labels[axis] for axis in rest)))


def _every(build: Builder, data: Expr, count: Size) -> Expr:
    """Every (count + 1)-th of count * count elements of the first axis."""
    if isinstance(count, int):
        step, end = count + 1, count * count
        return build.call("strided_slice", data, begin=(0,), end=(end,), strides=(step,), axes=(0,))
    step_value = build.call("add", size_value(build, count), build.constant(1))
    positions = build.call("multiply", positions_below(build, count), step_value)
    return build.call("take", data, positions, axis=0)


def _joined(build: Builder, operands: Sequence[Operand], output: Labels) -> Operand:
    """All operands as one, whose labels are those of the output."""
    result = operands[0]
    for index, operand in enumerate(operands[1:], start=2):
        later = {label for each in operands[index:] for label in each.labels}
        result = _pair(build, result, operand, later.union(output))
    return _summed(build, result, set(output))


def _pair(build: Builder, left: Operand, right: Operand, needed: set[Label]) -> Operand:
    """The product of two operands, summed over the labels that are not needed any more."""
    left, right = _without_ones(build, left, right), _without_ones(build, right, left)
    left = _summed(build, left, needed.union(right.labels))
    right = _summed(build, right, needed.union(left.labels))
    common = {
        label: _common_size(label, left.size(label), right.size(label))
        for label in left.labels
        if label in right.labels
    }
    batch = tuple(label for label in common if label in needed)
    depth = tuple(label for label in common if label not in needed)
    rows = tuple(label for label in left.labels if label not in common)
    columns = tuple(label for label in right.labels if label not in common)
    is_product = bool(depth and (rows or columns) and is_float(dtype_of(left.data)))
    if is_product and None not in common.values():
        for label, size in common.items():
            left, right = (_with_size(build, each, label, size) for each in (left, right))
        return _matrix_product(build, left, right, (batch, rows, columns, depth))
    labels = (*batch, *rows, *columns, *depth)
    factors = [_in_order(build, each, labels) for each in (left, right)]
    return _summed(build, Operand(build.call("multiply", *factors), labels), needed)


def _common_size(label: Label, left: Dim, right: Dim) -> Dim | None:
    """The size of two axes with one label; None where no type tells one.

    Raises ModelError where they certainly differ.
    """
    if isinstance(left, int) and isinstance(right, int) and left != right:
        raise _different_sizes(label, left, right)
    known = [size for size in (left, right) if size != UNKNOWN]
    return min(known, key=lambda size: not isinstance(size, int)) if known else None


def _with_size(build: Builder, operand: Operand, label: Label, size: Dim | None) -> Operand:
    """The operand with this size of all axes with a label, which a run compares."""
    assert size is not None
    pairs = zip(operand.labels, shape_of(operand.data), strict=True)
    sizes = [size if each == label else dim for each, dim in pairs]
    return Operand(build.with_shape(operand.data, sizes), operand.labels)


def _matrix_product(
    build: Builder, left: Operand, right: Operand, axes: tuple[Labels, Labels, Labels, Labels]
) -> Operand:
    """One product of stacks of matrices; several labels of a kind are joined to one axis."""
    batch, rows, columns, depth = axes
    as_rows = right.labels == (*batch, *columns, *depth)
    product = build.call(
        "nn.batch_matmul",
        _matrix(build, left, batch, rows, depth),
        _matrix(build, right, batch, *((columns, depth) if as_rows else (depth, columns))),
        transpose_b=as_rows,
    )
    sizes = [_size(build, left, label) for label in (*batch, *rows)]
    sizes += [_size(build, right, label) for label in columns]
    return Operand(reshape_to_known(build, product, sizes), (*batch, *rows, *columns))


def _matrix(build: Builder, operand: Operand, batch: Labels, first: Labels, second: Labels) -> Expr:
    data = _in_order(build, operand, (*batch, *first, *second))
    if len(first) == len(second) == 1:
        return data
    sizes = [_size(build, operand, label) for label in batch]
    joined = [
        size_product(build, [_size(build, operand, label) for label in labels])
        for labels in (first, second)
    ]
    return reshape_to_known(build, data, [*sizes, *joined])


def _size(build: Builder, operand: Operand, label: Label) -> Size:
    return known_size(build, operand.data, operand.labels.index(label))


def _without_ones(build: Builder, operand: Operand, other: Operand) -> Operand:
    """Without the axes of size 1 that the other operand has with any size: they are broadcast."""
    ones = {label for label in operand.labels if operand.size(label) == 1}
    axes = [axis for axis, each in enumerate(operand.labels) if each in ones & set(other.labels)]
    if not axes:
        return operand
    labels = tuple(each for axis, each in enumerate(operand.labels) if axis not in axes)
    return Operand(build.call("squeeze", operand.data, axis=tuple(axes)), labels)


def _summed(build: Builder, operand: Operand, needed: set[Label]) -> Operand:
    """Summed over all labels that are not needed."""
    axes = tuple(axis for axis, label in enumerate(operand.labels) if label not in needed)
    if not axes:
        return operand
    labels = tuple(label for label in operand.labels if label in needed)
    return Operand(build.call("sum", operand.data, axis=axes), labels)


def _in_order(build: Builder, operand: Operand, labels: Labels) -> Expr:
    """The axes in the order of `labels`, with axes of size 1 for those that are not there."""
    present = [label for label in labels if label in operand.labels]
    data = operand.data
    if tuple(present) != operand.labels:
        data = build.call("transpose", data, axes=tuple(map(operand.labels.index, present)))
    for axis, label in enumerate(labels):
        if label not in operand.labels:
            data = build.call("expand_dims", data, axis=axis)
    return data


def _different_sizes(label: Label, left: Dim, right: Dim) -> ModelError:
    what = f"label {label!r}" if isinstance(label, str) else f"axis {label} of '...'"
    return ModelError(f"{what} has the sizes {left} and {right}.")
