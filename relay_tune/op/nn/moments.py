"""Mean and deviation over blocks of a tensor, in one pass, and normalisation by them.

A block is described by how many blocks there are along each axis: as many as elements where the
axis is kept apart, 1 where all of it is summed, and the number of groups in between.

The sums are those of the distances d from the first element of the block, and of their squares:

    mean = first + sum(d) / n        variance = sum(d * d) / n - (sum(d) / n) ** 2

Neither sum waits for the other. What the subtraction loses is at most (first - mean) ** 2 by the
variance, times the rounding of a sum: little, unless the first element is far from all others, and
then at most n (Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance", 1983,
section 2). Without a shift it would be mean ** 2 by the variance, which has no bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from relay_tune.op.elements import Array, divided, wide_dtype
from relay_tune.op.layout_indices import ReductionAxes, compute_elements, quotient
from relay_tune.tensor.expression import Scalar, Tensor, binary, cast, reduce, unary
from relay_tune.tensor.scalar_semantics import numpy_dtype


def sum_over_blocks(
    name: str, data: Tensor, blocks: Sequence[int], term: Callable[..., Scalar]
) -> Tensor:
    """The sum of `term(element, block index)` over each block; short floats as float32."""
    sizes = [extent // number for extent, number in zip(data.shape, blocks, strict=True)]

    def element(*block: Scalar) -> Scalar:
        reduction = ReductionAxes()
        places = [
            index * size + reduction.add(f"k{n}", size)
            for n, (index, size) in enumerate(zip(block, sizes, strict=True))
        ]
        value = cast(data[tuple(places)], wide_dtype(data.dtype))
        return reduce("sum", reduction.axes, term(value, block))

    return compute_elements(name, blocks, element)


def block_of(axes: Sequence[Scalar], shape: Sequence[int], blocks: Sequence[int]) -> list[Scalar]:
    """The index of the block that the element at `axes` belongs to."""
    return [
        quotient(axis, extent // number)
        for axis, extent, number in zip(axes, shape, blocks, strict=True)
    ]


def normalized(
    data: Tensor,
    blocks: Sequence[int],
    epsilon: float,
    finish: Callable[[Scalar, Sequence[Scalar]], Scalar],
) -> Tensor:
    """(data - mean) / sqrt(variance + epsilon) of its block, through `finish(value, axes)`.

    That is (data - first) * factor + offset: zero where all elements of a block are equal.
    """
    count = prod(data.shape) // prod(blocks)
    wide = wide_dtype(data.dtype)
    sizes = [extent // number for extent, number in zip(data.shape, blocks, strict=True)]

    def at_first(*block: Scalar) -> Scalar:
        places = tuple(index * size for index, size in zip(block, sizes, strict=True))
        return cast(data[places], wide)

    def squared_distance(value: Scalar, block: Sequence[Scalar]) -> Scalar:
        distance = value - first[tuple(block)]
        return distance * distance

    first = compute_elements("first", blocks, at_first)
    total = sum_over_blocks("total", data, blocks, lambda value, block: value - first[tuple(block)])
    squares = sum_over_blocks("squares", data, blocks, squared_distance)
    center = compute_elements("center", blocks, lambda *block: divided(total[block], count))

    def inverse_deviation(*block: Scalar) -> Scalar:
        variance = divided(squares[block], count) - center[block] * center[block]
        return unary("rsqrt", binary("max", variance, 0.0) + epsilon)

    factor = compute_elements("inverse_deviation", blocks, inverse_deviation)
    offset = compute_elements("offset", blocks, lambda *block: -center[block] * factor[block])

    def element(*axes: Scalar) -> Scalar:
        block = tuple(block_of(axes, data.shape, blocks))
        value = (cast(data[axes], wide) - first[block]) * factor[block] + offset[block]
        return cast(finish(value, axes), data.dtype)

    return compute_elements("normalized", data.shape, element)


def normalized_array(data: Array, blocks: Sequence[int], epsilon: float) -> Array:
    """numpy form of `normalized`, in the type that short floats are summed in."""
    split = [
        size
        for extent, number in zip(data.shape, blocks, strict=True)
        for size in (number, extent // number)
    ]
    wide = data.astype(numpy_dtype(wide_dtype(data.dtype.name))).reshape(split)
    inner = tuple(range(1, 2 * data.ndim, 2))
    distance = wide - wide.mean(axis=inner, keepdims=True)
    variance = np.square(distance).mean(axis=inner, keepdims=True)
    result = distance / np.sqrt(variance + np.asarray(epsilon, wide.dtype))
    return np.asarray(result).reshape(data.shape)
