"""Which numbers of elements must be equal where types do not tell.

    fn (%a: Tensor[(s0, 3), float32], %b: Tensor[(s1, s2), float32]) {
        %0 = reshape_like(%a, %b);
        split(%0, indices_or_sections=4)
    }
    asks for    s0 * 3 = s1 * s2    and    s1 * s2 = 4 * (s1 // 4) * s2

A primitive checks it when it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from relay_tune.first_order.kinds import tensors_of, type_of
from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.dim_arithmetic import add, floor_divide, multiply, product
from relay_tune.ir.expr import Call, Expr, Function
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType
from relay_tune.op.lower import composed_function
from relay_tune.op.nn.convolution import ConvAttributes
from relay_tune.op_rules.matching import RESHAPES, attributes_of
from relay_tune.typing.layout import logical_dims

KEEP_ELEMENTS = (
    *RESHAPES, "layout_transform", "split", "nn.depth_to_space", "nn.space_to_depth",
)  # fmt: skip
"""The operators whose results together have the elements of the first argument."""

Counts = tuple[Dim, Dim]
"""Two numbers of elements."""


def element_counts(function: Function) -> tuple[Counts, ...]:
    """The numbers of elements that operators of a typed primitive ask to be equal."""
    pairs = dict.fromkeys(_counts(function))
    return tuple(pair for pair in pairs if UNKNOWN not in pair and pair[0] != pair[1])


def _counts(function: Function) -> Iterator[Counts]:
    for node in post_order(function.body):
        if not isinstance(node, Call) or not isinstance(node.callee, Operator):
            continue
        operator, attributes = node.callee, attributes_of(node)
        if isinstance(attributes, ConvAttributes) and attributes.groups > 1:
            yield _channels(node, attributes)
        if operator.name in KEEP_ELEMENTS:
            yield _count(node.arguments[0]), _count(node)
        elif operator.name == "nn.space_to_batch_nd":
            yield _padded_count(node, attributes.paddings), _count(node)
        elif operator.name == "nn.batch_to_space_nd":
            yield _images(node, attributes.block_shape)
        elif operator.compute is None and operator.composition is not None:
            yield from _counts(composed_function(node, operator, operator.composition))


def _count(node: Expr) -> Dim:
    """The number of elements of a tensor, or of all in a tuple."""
    return reduce(add, (product(tensor.shape) for tensor in tensors_of(type_of(node))))


def _padded_count(node: Call, paddings: Sequence[tuple[int, int]]) -> Dim:
    """The number of elements that nn.space_to_batch_nd divides into blocks."""
    shape = list(_data(node).shape)
    for axis, pair in enumerate(paddings, start=1):
        shape[axis] = add(shape[axis], sum(pair))
    return product(shape)


def _images(node: Call, blocks: Sequence[int]) -> Counts:
    """The images that nn.batch_to_space_nd makes blocks of, and those in the blocks."""
    (result,) = tensors_of(type_of(node))
    return _data(node).shape[0], product((result.shape[0], *blocks))


def _channels(node: Call, attributes: ConvAttributes) -> Counts:
    """The channels of the data of a convolution, and those that are in groups."""
    channels = logical_dims(_data(node), attributes.data_layout)["C"]
    return channels, multiply(floor_divide(channels, attributes.groups), attributes.groups)


def _data(node: Call) -> TensorType:
    (data,) = tensors_of(type_of(node.arguments[0]))
    return data
