"""Writes at positions that are data: scatter_elements, scatter_nd.

Negative indices count from the end. An index out of range is an error of the program
(`relay_tune.op.index_check`); what is computed here leaves its update out.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, all_of, index_from_end
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Axis, Scalar, binary
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.scalar_semantics import apply_binary
from relay_tune.tensor.tensor import procedure
from relay_tune.typing.relations.indexing import scatter_elements as scatter_elements_relation
from relay_tune.typing.relations.indexing import scatter_nd as scatter_nd_relation

COMBINE = {"add": "add", "mul": "mul", "min": "min", "max": "max"}
"""How an update joins the element that is there; any other reduction replaces it."""


@dataclass(frozen=True)
class ScatterElementsAttributes(Attributes):
    """Attributes of scatter_elements.

    Attributes:
        axis: the axis that is indexed.
        reduction: "update" (replace), "add", "mul", "min" or "max".
    """

    axis: int = 0
    reduction: str = "update"


@dataclass(frozen=True)
class ScatterNdAttributes(Attributes):
    """Attributes of scatter_nd.

    Attributes:
        mode: "update" (replace), "add", "mul", "min" or "max".
    """

    mode: str = "update"


def enter_loops(builder: LoopBuilder, stack: ExitStack, shape: Sequence[int]) -> list[Axis]:
    """Nested loops over all positions of `shape`, open until the stack is closed."""
    return [
        stack.enter_context(builder.loop(f"i{index}", extent)) for index, extent in enumerate(shape)
    ]


def copy_buffer(builder: LoopBuilder, source: Buffer, target: Buffer) -> None:
    """Write a loop nest that copies a whole buffer."""
    with ExitStack() as stack:
        axes = enter_loops(builder, stack, source.shape)
        builder.store(target, axes, source[tuple(axes)])


def _write_update(
    builder: LoopBuilder,
    target: Buffer,
    coordinates: dict[int, Scalar],
    position: Sequence[Scalar],
    value: Scalar,
    reduction: str,
) -> None:
    """Join `value` into the target, if the data-dependent `coordinates` of its axes are inside."""
    tests = []
    for axis, index in coordinates.items():
        tests.append(binary("ge", index, 0))
        tests.append(binary("lt", index, target.shape[axis]))
    with builder.when(all_of(tests)):
        if reduction in COMBINE:
            value = binary(COMBINE[reduction], target[tuple(position)], value)
        builder.store(target, position, value)


def _scatter_elements(
    attributes: ScatterElementsAttributes, inputs: Any, types: Any
) -> Sequence[Any]:
    data = inputs[0]
    axis = attributes.axis % data.rank

    def write(
        builder: LoopBuilder, source: Buffer, indices: Buffer, updates: Buffer, target: Buffer
    ) -> None:
        copy_buffer(builder, source, target)
        with ExitStack() as stack:
            axes = enter_loops(builder, stack, indices.shape)
            index = index_from_end(indices[tuple(axes)], target.shape[axis])
            position = [*axes[:axis], index, *axes[axis + 1 :]]
            update = updates[tuple(axes)]
            _write_update(builder, target, {axis: index}, position, update, attributes.reduction)

    return procedure("scatter_elements", inputs, [(data.shape, data.dtype)], write)


def _scatter_nd(attributes: ScatterNdAttributes, inputs: Any, types: Any) -> Sequence[Any]:
    data = inputs[0]

    def write(
        builder: LoopBuilder, source: Buffer, indices: Buffer, updates: Buffer, target: Buffer
    ) -> None:
        copy_buffer(builder, source, target)
        with ExitStack() as stack:
            axes = enter_loops(builder, stack, updates.shape)
            chosen, rest = axes[: indices.rank - 1], axes[indices.rank - 1 :]
            positions = {
                n: index_from_end(indices[(n, *chosen)], target.shape[n])
                for n in range(indices.shape[0])
            }
            position = [*positions.values(), *rest]
            update = updates[tuple(axes)]
            _write_update(builder, target, positions, position, update, attributes.mode)

    return procedure("scatter_nd", inputs, [(data.shape, data.dtype)], write)


def _join_updates(
    result: Array, coordinates: Sequence[Array], updates: Array, reduction: str
) -> Array:
    """Join updates into `result` one after the other; coordinates have one array an axis."""
    positions = zip(*(axis.reshape(-1).tolist() for axis in coordinates), strict=True)
    first = coordinates[0]  # a size may be 0, which leaves no -1 to find
    rows = updates.reshape((first.size, *updates.shape[first.ndim :]))
    for position, update in zip(positions, rows, strict=True):
        sizes = result.shape[: len(position)]
        inside = all(-size <= index < size for index, size in zip(position, sizes, strict=True))
        if not inside:
            continue
        if reduction in COMBINE:
            update = apply_binary(COMBINE[reduction], np.asarray(result[position]), update)
        result[position] = update
    return result


def _scatter_elements_reference(
    attributes: ScatterElementsAttributes, data: Array, indices: Array, updates: Array
) -> Array:
    axis = attributes.axis % data.ndim
    coordinates: list[Array] = list(np.indices(indices.shape))
    coordinates[axis] = indices.astype(np.int64)
    cut = updates[tuple(slice(size) for size in indices.shape)]
    return _join_updates(data.copy(), coordinates, cut, attributes.reduction)


def _scatter_nd_reference(
    attributes: ScatterNdAttributes, data: Array, indices: Array, updates: Array
) -> Array:
    coordinates: list[Array] = list(indices.astype(np.int64))
    return _join_updates(data.copy(), coordinates, updates, attributes.mode)


scatter_elements = define(
    name="scatter_elements",
    arguments=("data", "indices", "updates"),
    relation=scatter_elements_relation,
    kind=FusionKind.OPAQUE,
    attributes=ScatterElementsAttributes,
    compute=_scatter_elements,
    reference=_scatter_elements_reference,
    documentation=(
        "The data after out[indices[i][j]][j] = updates[i][j] for axis 0, and so on; "
        "updates are joined in row-major order."
    ),
)
scatter_nd = define(
    name="scatter_nd",
    arguments=("data", "indices", "updates"),
    relation=scatter_nd_relation,
    kind=FusionKind.OPAQUE,
    attributes=ScatterNdAttributes,
    compute=_scatter_nd,
    reference=_scatter_nd_reference,
    documentation=(
        "The data after its slices at positions, whose coordinates run along axis 0 of "
        "indices, were joined with updates in row-major order."
    ),
)
