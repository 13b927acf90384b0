"""Reads at indices that are data: take, gather, gather_nd, adv_index.

Negative indices count from the end; `take` has other modes. An index out of range is an error of
the program (`relay_tune.op.index_check`); what is computed here reads at the nearest one inside, so
that nothing is read out of bounds.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, broadcast_load, clamp_index, index_inside, load_at, moved
from relay_tune.op.reshape_index import reshaped_tensor
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Scalar, binary, cast
from relay_tune.typing.relations.indexing import advanced_index as advanced_index_relation
from relay_tune.typing.relations.indexing import gather as gather_relation
from relay_tune.typing.relations.indexing import gather_nd as gather_nd_relation
from relay_tune.typing.relations.indexing import take as take_relation


@dataclass(frozen=True)
class TakeAttributes(Attributes):
    """Attributes of take.

    Attributes:
        axis: the axis that is indexed; None: the flattened data.
        batch_dims: so many leading axes of data and indices belong together.
        mode: what becomes of indices outside of the axis; "clip": they are forced into it;
            "wrap": taken modulo its size; "fast": it is promised that there are none; "raise":
            negative ones count from the end, and others are errors.
    """

    axis: int | None = None
    batch_dims: int = 0
    mode: str = "clip"


@dataclass(frozen=True)
class GatherAttributes(Attributes):
    """Attributes of gather.

    Attributes:
        axis: the axis that is indexed.
    """

    axis: int


@dataclass(frozen=True)
class GatherNdAttributes(Attributes):
    """Attributes of gather_nd.

    Attributes:
        batch_dims: so many leading axes of data and positions belong together.
        index_rank: the number of coordinates, where the type of the indices does not say it.
    """

    batch_dims: int = 0
    index_rank: int | None = None


def _take_position(mode: str, index: Scalar, size: int) -> Scalar:
    match mode:
        case "wrap":
            return binary("floormod", cast(index, INDEX), size)
        case "raise":
            return index_inside(index, size)
        case _:
            return clamp_index(index, size)


def _batch_dims(attributes: TakeAttributes, rank: int) -> int:
    """The number of batch axes; a negative one counts from the rank of the indices."""
    batch = attributes.batch_dims
    return batch if batch >= 0 else batch + rank


def _take(attributes: TakeAttributes, inputs: Any, types: Any) -> list[Any]:
    data, indices = inputs
    batch = _batch_dims(attributes, indices.rank)
    if attributes.axis is None:
        count = prod(data.shape)
        data, axis = reshaped_tensor("flatten", data, (count,)), 0
    else:
        axis = attributes.axis % data.rank
    extra = indices.rank - batch

    def source_indices(*output: Scalar) -> list[Scalar]:
        index = load_at(indices, [*output[:batch], *output[axis : axis + extra]])
        position = _take_position(attributes.mode, index, data.shape[axis])
        return [*output[:axis], position, *output[axis + extra :]]

    return [moved("take", types[0], data, source_indices)]


def _positions(mode: str, indices: Array, size: int) -> Array:
    if mode == "wrap":
        return indices % size
    return _from_end(indices, size) if mode == "raise" else np.clip(indices, 0, size - 1)


def _from_end(indices: Array, size: int) -> Array:
    """Indices, of which negative ones count from the end, as the kernels read them.

    The program has been told about others (`check_indices`); kernels read the last element there.
    """
    wide = indices.astype(np.int64)
    front = np.where(wide < 0, wide + size, wide).astype(np.uint64)
    return np.minimum(front, np.uint64(max(size, 1) - 1)).astype(np.int64)


def _take_reference(attributes: TakeAttributes, data: Array, indices: Array) -> Array:
    if attributes.axis is None:
        data, axis = data.reshape(-1), 0
    else:
        axis = attributes.axis % data.ndim
    size = data.shape[axis]
    positions = _positions(attributes.mode, indices.astype(np.int64), size)
    batch = _batch_dims(attributes, indices.ndim)
    if not batch:
        return np.asarray(np.take(data, positions, axis))
    rows = data.reshape((-1, *data.shape[batch:]))
    lists = positions.reshape((-1, *positions.shape[batch:]))
    taken = [np.take(row, chosen, axis - batch) for row, chosen in zip(rows, lists, strict=True)]
    return np.stack(taken).reshape((*data.shape[:batch], *taken[0].shape))


def _gather(attributes: GatherAttributes, inputs: Any, types: Any) -> list[Any]:
    data, indices = inputs
    axis = attributes.axis % data.rank

    def source_indices(*output: Scalar) -> list[Scalar]:
        size = data.shape[axis]
        position = index_inside(load_at(indices, output), size)
        return [*output[:axis], position, *output[axis + 1 :]]

    return [moved("gather", types[0], data, source_indices)]


def _gather_reference(attributes: GatherAttributes, data: Array, indices: Array) -> Array:
    axis = attributes.axis % data.ndim
    cut = tuple(slice(size) for size in indices.shape)
    rows = data[cut[:axis] + (slice(None),) + cut[axis + 1 :]]
    positions = _from_end(indices, data.shape[axis])
    return np.take_along_axis(rows, positions, axis)


def _gather_nd(attributes: GatherNdAttributes, inputs: Any, types: Any) -> list[Any]:
    data, indices = inputs
    batch = attributes.batch_dims

    def source_indices(*output: Scalar) -> list[Scalar]:
        positions = output[: indices.rank - 1]
        coordinates = [
            index_inside(indices[(n, *positions)], size)
            for n, size in enumerate(data.shape[batch : batch + indices.shape[0]])
        ]
        return [*output[:batch], *coordinates, *output[indices.rank - 1 :]]

    return [moved("gather_nd", types[0], data, source_indices)]


def _gather_nd_reference(attributes: GatherNdAttributes, data: Array, indices: Array) -> Array:
    batch = attributes.batch_dims
    rank = indices.ndim - 1
    coordinates: list[Array] = [
        np.arange(size).reshape([-1 if n == axis else 1 for n in range(rank)])
        for axis, size in enumerate(data.shape[:batch])
    ]
    for n, row in enumerate(indices):
        coordinates.append(_from_end(row, data.shape[batch + n]))
    return np.asarray(data[tuple(coordinates)])


def _advanced_index(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    ((data, *indices),) = inputs
    rank = max(index.rank for index in indices)

    def source_indices(*output: Scalar) -> list[Scalar]:
        chosen = [
            index_inside(broadcast_load(index, output[:rank]), size)
            for index, size in zip(indices, data.shape, strict=False)
        ]
        return [*chosen, *output[rank:]]

    return [moved("adv_index", types[0], data, source_indices)]


def _advanced_index_reference(attributes: Attributes, inputs: tuple[Array, ...]) -> Array:
    data, *indices = inputs
    chosen = []
    for index, size in zip(indices, data.shape, strict=False):
        chosen.append(_from_end(index, size))
    return np.asarray(data[tuple(chosen)])


take = define(
    name="take",
    arguments=("data", "indices"),
    relation=take_relation,
    kind=FusionKind.INJECTIVE,
    attributes=TakeAttributes,
    compute=_take,
    reference=_take_reference,
    documentation="The slices of data at the given positions of one axis.",
)
gather = define(
    name="gather",
    arguments=("data", "indices"),
    relation=gather_relation,
    kind=FusionKind.INJECTIVE,
    attributes=GatherAttributes,
    compute=_gather,
    reference=_gather_reference,
    documentation="out[i][j] = data[indices[i][j]][j] for axis 0, and so on.",
)
gather_nd = define(
    name="gather_nd",
    arguments=("data", "indices"),
    relation=gather_nd_relation,
    kind=FusionKind.INJECTIVE,
    attributes=GatherNdAttributes,
    compute=_gather_nd,
    reference=_gather_nd_reference,
    documentation="Slices of data at positions whose coordinates run along axis 0 of indices.",
)
adv_index = define(
    name="adv_index",
    arguments=("inputs",),
    relation=advanced_index_relation,
    kind=FusionKind.INJECTIVE,
    compute=_advanced_index,
    reference=_advanced_index_reference,
    documentation=(
        "data[index0, index1, ...] with index tensors that broadcast; negative ones count "
        "from the end."
    ),
)
