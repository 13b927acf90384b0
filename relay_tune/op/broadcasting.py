"""Larger tensors of repeated elements: broadcast_to, tile, repeat, meshgrid."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, elementwise, integer_shape, load_at, moved
from relay_tune.op.reshape_index import reshaped_tensor
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, binary
from relay_tune.tensor.tensor import compute
from relay_tune.typing.relations.shape import broadcast_to as broadcast_to_relation
from relay_tune.typing.relations.shape import broadcast_to_like as broadcast_to_like_relation
from relay_tune.typing.relations.shape import meshgrid as meshgrid_relation
from relay_tune.typing.relations.shape import repeat as repeat_relation
from relay_tune.typing.relations.shape import tile as tile_relation


@dataclass(frozen=True)
class BroadcastToAttributes(Attributes):
    """Attributes of broadcast_to.

    Attributes:
        shape: the shape of the result.
    """

    shape: tuple[int, ...]


@dataclass(frozen=True)
class TileAttributes(Attributes):
    """Attributes of tile.

    Attributes:
        reps: copies along each axis; missing ones, in front, are 1.
    """

    reps: int | tuple[int, ...]


@dataclass(frozen=True)
class RepeatAttributes(Attributes):
    """Attributes of repeat.

    Attributes:
        repeats: copies of each element.
        axis: the axis along which they stand; None: the flattened data.
    """

    repeats: int
    axis: int | None = None


@dataclass(frozen=True)
class MeshgridAttributes(Attributes):
    """Attributes of meshgrid.

    Attributes:
        indexing: "ij": the first vector runs along the first axis; "xy": along the second.
    """

    indexing: str = "ij"


def _broadcast(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    return [elementwise("broadcast_to", integer_shape(types[0]), inputs[:1], lambda x: x)]


def _broadcast_to_reference(attributes: BroadcastToAttributes, data: Array) -> Array:
    return np.broadcast_to(data, attributes.shape)


def _broadcast_like_reference(attributes: Attributes, data: Array, like: Array) -> Array:
    return np.broadcast_to(data, like.shape)


def _tile(attributes: TileAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs

    def source_indices(*output: Scalar) -> list[Scalar]:
        axes = output[len(output) - data.rank :]
        return [binary("floormod", axis, n) for axis, n in zip(axes, data.shape, strict=True)]

    return [moved("tile", types[0], data, source_indices)]


def _tile_reference(attributes: TileAttributes, data: Array) -> Array:
    return np.tile(data, attributes.reps)


def _repeat(attributes: RepeatAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    if attributes.axis is None:
        data = reshaped_tensor("flatten", data, (prod(data.shape),))
    repeated = (attributes.axis or 0) % data.rank

    def source_indices(*output: Scalar) -> list[Scalar]:
        quotient = binary("floordiv", output[repeated], attributes.repeats)
        return [quotient if n == repeated else axis for n, axis in enumerate(output)]

    return [moved("repeat", types[0], data, source_indices)]


def _repeat_reference(attributes: RepeatAttributes, data: Array) -> Array:
    return np.repeat(data, attributes.repeats, attributes.axis)


def _meshgrid(attributes: MeshgridAttributes, inputs: Any, types: Any) -> list[Any]:
    (vectors,) = inputs
    order = list(range(len(vectors)))
    if attributes.indexing == "xy" and len(order) >= 2:
        order[0], order[1] = 1, 0
    return [
        compute("meshgrid", integer_shape(types[0]), partial(_grid_element, vector, axis))
        for vector, axis in zip(vectors, order, strict=True)
    ]


def _grid_element(vector: Tensor, axis: int, *output: Scalar) -> Scalar:
    """The element of a vector (or scalar) that runs along one axis of the grid."""
    return load_at(vector, output[axis : axis + vector.rank])


def _meshgrid_reference(
    attributes: MeshgridAttributes, vectors: tuple[Array, ...]
) -> tuple[Array, ...]:
    grids = np.meshgrid(*vectors, indexing="xy" if attributes.indexing == "xy" else "ij")
    return tuple(grids)


broadcast_to = define(
    name="broadcast_to",
    arguments=("data",),
    relation=broadcast_to_relation,
    kind=FusionKind.BROADCAST,
    attributes=BroadcastToAttributes,
    compute=_broadcast,
    reference=_broadcast_to_reference,
    documentation="The data stretched to a shape, aligned from the right.",
)
broadcast_to_like = define(
    name="broadcast_to_like",
    arguments=("data", "broadcast_type"),
    relation=broadcast_to_like_relation,
    kind=FusionKind.BROADCAST,
    compute=_broadcast,
    reference=_broadcast_like_reference,
    documentation="The data stretched to the shape of the second argument.",
)
tile = define(
    name="tile",
    arguments=("data",),
    relation=tile_relation,
    kind=FusionKind.INJECTIVE,
    attributes=TileAttributes,
    compute=_tile,
    reference=_tile_reference,
    documentation="Copies of the data side by side along each axis.",
)
repeat = define(
    name="repeat",
    arguments=("data",),
    relation=repeat_relation,
    kind=FusionKind.INJECTIVE,
    attributes=RepeatAttributes,
    compute=_repeat,
    reference=_repeat_reference,
    documentation="Each element several times in a row along an axis.",
)
meshgrid = define(
    name="meshgrid",
    arguments=("data",),
    relation=meshgrid_relation,
    kind=FusionKind.INJECTIVE,
    attributes=MeshgridAttributes,
    compute=_meshgrid,
    reference=_meshgrid_reference,
    documentation="For a tuple of vectors, the grids on which each varies along its own axis.",
)
