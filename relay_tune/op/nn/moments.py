"""Mean and deviation over blocks of a tensor, in two passes, and normalisation by them.

A block is described by how many blocks there are along each axis: as many as elements where the
axis is kept apart, 1 where all of it is summed, and the number of groups in between.

The sums are those of the distances d from the first element of the block, and of their squared
distances from the mean of d:

    center = sum(d) / n        mean = first + center        variance = sum((d - center) ** 2) / n

The shift keeps the digits of elements that are close to each other and far from zero; the second
pass keeps those of the variance wherever the first element lies (Chan, Golub and LeVeque,
"Algorithms for Computing the Sample Variance", 1983, sections 1 and 2). One pass over shifted data
would lose up to n roundings where the first element is far from all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from relay_tune.op.elements import Array, divided, wide_dtype
from relay_tune.op.layout_indices import ReductionAxes, compute_elements, quotient
from relay_tune.tensor.expression import Scalar, Tensor, cast, reduce, unary
from relay_tune.tensor.scalar_semantics import convert


def sum_over_blocks(
    name: str, data: Tensor, blocks: Sequence[int], term: Callable[..., Scalar]
) -> Tensor:
    """The sum of `term(element, block index)` over each block; short floats as float32."""
    sizes = [extent // number for extent, number in zip(data.shape, blocks, strict=True)]

    def element(*block: Scalar) -> Scalar:
        reduction = ReductionAxes()
        positions = [
            index * size + reduction.add(f"k{n}", size)
            for n, (index, size) in enumerate(zip(block, sizes, strict=True))
        ]
        value = cast(data[tuple(positions)], wide_dtype(data.dtype))
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
        positions = tuple(index * size for index, size in zip(block, sizes, strict=True))
        return cast(data[positions], wide)

    def squared_distance(value: Scalar, block: Sequence[Scalar]) -> Scalar:
        distance = value - first[tuple(block)] - center[tuple(block)]
        return distance * distance

    first = compute_elements("first", blocks, at_first)
    total = sum_over_blocks("total", data, blocks, lambda value, block: value - first[tuple(block)])
    center = compute_elements("center", blocks, lambda *block: divided(total[block], count))
    squares = sum_over_blocks("squares", data, blocks, squared_distance)

    def inverse_deviation(*block: Scalar) -> Scalar:
        return unary("rsqrt", divided(squares[block], count) + epsilon)

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
    exact = data.astype(np.float64).reshape(split)
    inner = tuple(range(1, 2 * data.ndim, 2))
    distance = exact - exact.mean(axis=inner, keepdims=True)
    variance = np.square(distance).mean(axis=inner, keepdims=True)
    result = distance / np.sqrt(variance + epsilon)
    return convert(np.asarray(result).reshape(data.shape), wide_dtype(data.dtype.name))
