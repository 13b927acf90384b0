"""Moves between layouts, and between depth and space."""

from __future__ import annotations

from typing import Any

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.element_counts import kept_elements
from relay_tune.op.elements import Array, integer_shape
from relay_tune.op.layout_arrays import as_stored, as_whole
from relay_tune.op.layout_indices import letter_positions, letter_sizes, load_at, whole
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, binary
from relay_tune.tensor.tensor import compute
from relay_tune.typing.layout import parse_layout
from relay_tune.typing.relations.layout import depth_to_space as depth_to_space_relation
from relay_tune.typing.relations.layout import layout_transform as layout_transform_relation
from relay_tune.typing.relations.layout import space_to_depth as space_to_depth_relation


@dataclass(frozen=True)
class LayoutTransformAttributes(Attributes):
    """Attributes of layout_transform.

    Attributes:
        src_layout: the layout of the data, such as NCHW.
        dst_layout: the layout of the result, such as NCHW16c: blocks must divide the sizes.
    """

    src_layout: str
    dst_layout: str


@dataclass(frozen=True)
class SpaceToDepthAttributes(Attributes):
    """Attributes of nn.space_to_depth.

    Attributes:
        block_size: height and width of the squares that become channels.
        layout: the layout of data and result.
    """

    block_size: int
    layout: str = "NCHW"


@dataclass(frozen=True)
class DepthToSpaceAttributes(SpaceToDepthAttributes):
    """Attributes of nn.depth_to_space, besides those of nn.space_to_depth.

    Attributes:
        mode: the order of the channels: "DCR" block first, "CRD" channel first.
    """

    mode: str = "DCR"


def _letters(layout: str) -> str:
    return "".join(axis.letter for axis in parse_layout(layout) if not axis.factor)


def _layout_transform(attributes: LayoutTransformAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs

    def element(*output: Scalar) -> Scalar:
        return load_at(data, attributes.src_layout, letter_positions(attributes.dst_layout, output))

    return [compute("layout_transform", integer_shape(types[0]), element)]


def _layout_transform_reference(attributes: LayoutTransformAttributes, data: Array) -> Array:
    letters = _letters(attributes.src_layout)
    return as_stored(as_whole(data, attributes.src_layout, letters), letters, attributes.dst_layout)


def _depth_to_space(attributes: DepthToSpaceAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    block, layout = attributes.block_size, attributes.layout
    shape = integer_shape(types[0])
    channels = letter_sizes(shape, layout)["C"]

    def element(*output: Scalar) -> Scalar:
        position = {letter: whole(at) for letter, at in letter_positions(layout, output).items()}
        row, column = position["H"], position["W"]
        square = binary("floormod", row, block) * block + binary("floormod", column, block)
        if attributes.mode == "DCR":
            position["C"] = square * channels + position["C"]
        else:
            position["C"] = position["C"] * (block * block) + square
        position["H"] = binary("floordiv", row, block)
        position["W"] = binary("floordiv", column, block)
        return load_at(data, layout, position)

    return [compute("depth_to_space", shape, element)]


def _depth_to_space_reference(attributes: DepthToSpaceAttributes, data: Array) -> Array:
    block = attributes.block_size
    batch, depth, height, width = (plain := as_whole(data, attributes.layout, "NCHW")).shape
    channels = depth // (block * block)
    if attributes.mode == "DCR":
        parts = plain.reshape(batch, block, block, channels, height, width)
        spread = parts.transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = plain.reshape(batch, channels, block, block, height, width)
        spread = parts.transpose(0, 1, 4, 2, 5, 3)
    result = spread.reshape(batch, channels, height * block, width * block)
    return as_stored(result, "NCHW", attributes.layout)


def _space_to_depth(attributes: SpaceToDepthAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    block, layout = attributes.block_size, attributes.layout
    channels = letter_sizes(data.shape, layout)["C"]

    def element(*output: Scalar) -> Scalar:
        position = {letter: whole(at) for letter, at in letter_positions(layout, output).items()}
        square = binary("floordiv", position["C"], channels)
        position["C"] = binary("floormod", position["C"], channels)
        position["H"] = position["H"] * block + binary("floordiv", square, block)
        position["W"] = position["W"] * block + binary("floormod", square, block)
        return load_at(data, layout, position)

    return [compute("space_to_depth", integer_shape(types[0]), element)]


def _space_to_depth_reference(attributes: SpaceToDepthAttributes, data: Array) -> Array:
    block = attributes.block_size
    batch, channels, height, width = (plain := as_whole(data, attributes.layout, "NCHW")).shape
    rows, columns = height // block, width // block
    parts = plain.reshape(batch, channels, rows, block, columns, block)
    packed = parts.transpose(0, 3, 5, 1, 2, 4)
    result = packed.reshape(batch, block * block * channels, rows, columns)
    return as_stored(result, "NCHW", attributes.layout)


layout_transform = define(
    name="layout_transform",
    arguments=("data",),
    relation=layout_transform_relation,
    kind=FusionKind.INJECTIVE,
    attributes=LayoutTransformAttributes,
    compute=_layout_transform,
    reference=_layout_transform_reference,
    element_counts=kept_elements,
    documentation="The same elements stored in another layout.",
)
depth_to_space = define(
    name="nn.depth_to_space",
    arguments=("data",),
    relation=depth_to_space_relation,
    kind=FusionKind.INJECTIVE,
    attributes=DepthToSpaceAttributes,
    compute=_depth_to_space,
    reference=_depth_to_space_reference,
    element_counts=kept_elements,
    documentation="Channels spread over squares of block_size x block_size positions.",
)
space_to_depth = define(
    name="nn.space_to_depth",
    arguments=("data",),
    relation=space_to_depth_relation,
    kind=FusionKind.INJECTIVE,
    attributes=SpaceToDepthAttributes,
    compute=_space_to_depth,
    reference=_space_to_depth_reference,
    element_counts=kept_elements,
    documentation="Squares of block_size x block_size positions gathered into channels.",
)
