"""Type relations of layout changes, and of moves between space, depth and batch."""

from __future__ import annotations

from typing import Any

from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import add, floor_divide, multiply
from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.layout import logical_dims, physical_shape
from relay_tune.typing.relations.support import of_tensor
from relay_tune.typing.type_text import type_text


@of_tensor
def layout_transform(attributes: Any, data: TensorType) -> Type:
    """Attributes src_layout, dst_layout: strings such as NCHW and NCHW16c."""
    sizes = logical_dims(data, attributes.src_layout)
    return TensorType(physical_shape(sizes, attributes.dst_layout), data.dtype)


@of_tensor
def depth_to_space(attributes: Any, data: TensorType) -> Type:
    """Attributes block_size, layout: channels / block^2, height and width * block."""
    block = attributes.block_size
    sizes = logical_dims(data, attributes.layout)
    sizes["C"] = _exact_quotient(sizes["C"], block * block, "C", data)
    sizes["H"], sizes["W"] = multiply(sizes["H"], block), multiply(sizes["W"], block)
    return TensorType(physical_shape(sizes, attributes.layout), data.dtype)


@of_tensor
def space_to_depth(attributes: Any, data: TensorType) -> Type:
    """Attributes block_size, layout: channels * block^2, height and width / block."""
    block = attributes.block_size
    sizes = logical_dims(data, attributes.layout)
    sizes["C"] = multiply(sizes["C"], block * block)
    for letter in "HW":
        sizes[letter] = _exact_quotient(sizes[letter], block, letter, data)
    return TensorType(physical_shape(sizes, attributes.layout), data.dtype)


@of_tensor
def space_to_batch_nd(attributes: Any, data: TensorType) -> Type:
    """Attributes block_shape, paddings ((before, after), ...) of the axes after the first."""
    blocks = _spatial_blocks(data, attributes)
    shape = list(data.shape)
    for axis, block in enumerate(blocks, start=1):
        before, after = attributes.paddings[axis - 1]
        padded = add(shape[axis], before + after)
        shape[axis] = _exact_quotient(padded, block, str(axis), data)
        shape[0] = multiply(shape[0], block)
    return TensorType(tuple(shape), data.dtype)


@of_tensor
def batch_to_space_nd(attributes: Any, data: TensorType) -> Type:
    """Attributes block_shape, crops ((begin, end), ...) of the axes after the first."""
    blocks = _spatial_blocks(data, attributes)
    shape = list(data.shape)
    for axis, block in enumerate(blocks, start=1):
        begin, end = attributes.crops[axis - 1]
        shape[axis] = add(multiply(shape[axis], block), -(begin + end))
        shape[0] = _exact_quotient(shape[0], block, "0", data)
    return TensorType(tuple(shape), data.dtype)


def _spatial_blocks(data: TensorType, attributes: Any) -> tuple[int, ...]:
    blocks = tuple(attributes.block_shape)
    if len(blocks) + 1 > len(data.shape):
        raise RelationError(f"block_shape {blocks} has too many axes for {type_text(data)}")
    return blocks


def _exact_quotient(dim: Dim, divisor: int, axis: str, data: TensorType) -> Dim:
    if isinstance(dim, int) and dim % divisor:
        raise RelationError(
            f"axis {axis} of {type_text(data)} has size {dim}, which {divisor} does not divide"
        )
    return floor_divide(dim, divisor)
