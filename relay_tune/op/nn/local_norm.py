"""nn.lrn and nn.l2_normalize: division by a norm of the neighbours, or of whole axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, normalized_axis, wide_dtype
from relay_tune.op.layout_indices import ReductionAxes, compute_elements
from relay_tune.op.nn.moments import block_of, sum_over_blocks
from relay_tune.op.nn.windows import conjunction
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import (
    Scalar,
    Tensor,
    binary,
    cast,
    literal,
    reduce,
    select,
    unary,
)
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.size import is_symbolic
from relay_tune.typing.relations import nn as relations_nn


@dataclass(frozen=True)
class LRNAttributes(Attributes):
    """Attributes of nn.lrn.

    Attributes:
        size: how many neighbouring channels count, the channel itself included.
        axis: the channel axis.
        bias: added to the mean square, times alpha.
        alpha: factor of the mean square.
        beta: the power of the divisor.
    """

    size: int = 5
    axis: int = 1
    bias: float = 2.0
    alpha: float = 1e-5
    beta: float = 0.75


@dataclass(frozen=True)
class L2NormalizeAttributes(Attributes):
    """Attributes of nn.l2_normalize.

    Attributes:
        eps: the least sum of squares.
        axis: the axes over which squares are summed; None: all of them.
    """

    eps: float
    axis: int | tuple[int, ...] | None = None


def _neighbours(size: int, channels: int) -> tuple[int, int]:
    """How many channels before and behind one count, of those that there can be."""
    before = (size - 1) // 2
    others = size if is_symbolic(channels) else max(0, channels - 1)
    return min(before, others), min(size - 1 - before, others)


def _lrn(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    data: Tensor = inputs[0]
    axis = normalized_axis(attributes.axis, data.rank)
    dtype = wide_dtype(data.dtype)
    before, behind = _neighbours(attributes.size, data.shape[axis])

    def square_sum(*axes: Scalar) -> Scalar:
        reduction = ReductionAxes()
        position = axes[axis] + reduction.add("k", before + 1 + behind) - before
        value = cast(data[(*axes[:axis], position, *axes[axis + 1 :])], dtype)
        edges = [binary("ge", position, 0)] if before else []
        edges += [binary("lt", position, data.shape[axis])] if behind else []
        inside = conjunction(edges)
        square = value * value
        kept = square if inside is None else select(inside, square, literal(0.0, dtype))
        return reduce("sum", reduction.axes, kept)

    squares = compute_elements("squares", data.shape, square_sum)

    def element(*axes: Scalar) -> Scalar:
        base = squares[axes] * (attributes.alpha / attributes.size) + attributes.bias
        divisor = binary("pow", base, float(attributes.beta))
        return cast(cast(data[axes], dtype) / divisor, data.dtype)

    return [compute_elements("lrn", data.shape, element)]


def _lrn_reference(attributes: LRNAttributes, data: Array) -> Array:
    wide = np.moveaxis(data.astype(numpy_dtype(wide_dtype(data.dtype.name))), attributes.axis, 0)
    before, behind = _neighbours(attributes.size, wide.shape[0])
    padded = np.pad(np.square(wide), [(before, behind)] + [(0, 0)] * (data.ndim - 1))
    squares = sum(padded[n : n + wide.shape[0]] for n in range(before + 1 + behind))
    base = attributes.bias + attributes.alpha / attributes.size * np.asarray(squares)
    return np.moveaxis(wide / base**attributes.beta, 0, attributes.axis).astype(data.dtype)


def _summed_axes(attributes: L2NormalizeAttributes, rank: int) -> set[int]:
    if attributes.axis is None:
        return set(range(rank))
    given = (attributes.axis,) if isinstance(attributes.axis, int) else attributes.axis
    return {normalized_axis(axis, rank) for axis in given}


def _l2_normalize(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    data: Tensor = inputs[0]
    summed = _summed_axes(attributes, data.rank)
    blocks = [1 if n in summed else extent for n, extent in enumerate(data.shape)]
    squares = sum_over_blocks("squares", data, blocks, lambda value, block: value * value)
    factor = compute_elements(
        "inverse_norm",
        blocks,
        lambda *block: unary("rsqrt", binary("max", squares[block], float(attributes.eps))),
    )

    def element(*axes: Scalar) -> Scalar:
        block = tuple(block_of(axes, data.shape, blocks))
        return cast(cast(data[axes], factor.dtype) * factor[block], data.dtype)

    return [compute_elements("l2_normalized", data.shape, element)]


def _l2_normalize_reference(attributes: L2NormalizeAttributes, data: Array) -> Array:
    wide = data.astype(numpy_dtype(wide_dtype(data.dtype.name)))
    axes = tuple(_summed_axes(attributes, data.ndim))
    squares = np.square(wide).sum(axis=axes, keepdims=True)
    least = np.asarray(attributes.eps, wide.dtype)
    return np.asarray(wide / np.sqrt(np.maximum(squares, least))).astype(data.dtype)


lrn = define(
    name="nn.lrn",
    arguments=("data",),
    relation=relations_nn.lrn,
    kind=FusionKind.OUTPUT_FUSABLE,
    attributes=LRNAttributes,
    compute=_lrn,
    reference=_lrn_reference,
    documentation=(
        "data / (bias + alpha * mean square of the neighbouring channels) ** beta, where "
        "channels outside count as zero (Krizhevsky et al., 2012)."
    ),
)

l2_normalize = define(
    name="nn.l2_normalize",
    arguments=("data",),
    relation=relations_nn.l2_normalize,
    kind=FusionKind.OUTPUT_FUSABLE,
    attributes=L2NormalizeAttributes,
    compute=_l2_normalize,
    reference=_l2_normalize_reference,
    documentation="data / sqrt(max(sum of squares, eps))",
)
