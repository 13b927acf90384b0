"""Evaluates tensor expressions in numpy: the oracle of schedules and of generated code."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Axis, Reduce, Tensor
from relay_tune.tensor.run_loops import run_loops
from relay_tune.tensor.scalar_semantics import Array, apply_reduction, numpy_dtype
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.tensor import Computed, Input, Procedure, ProcedureOutput, WordView
from relay_tune.tensor.walk import loads

GRID_LIMIT = 1 << 22
"""At most about so many elements are evaluated at once."""


def evaluate(outputs: Sequence[Tensor], feeds: Mapping[Input, Array]) -> list[Array]:
    """The arrays of `outputs` where each input that they depend on has the array in `feeds`.

    Raises KeyError if an input has no array, IndexError if a load is out of bounds.
    """
    arrays: dict[Tensor, Array] = {tensor: np.asarray(array) for tensor, array in feeds.items()}
    finished: dict[Procedure, tuple[Array, ...]] = {}
    for tensor in tensors_in_order(outputs):
        match tensor:
            case Computed():
                arrays |= _words(tensor, arrays)
                arrays[tensor] = _evaluate_computed(tensor, arrays)
            case ProcedureOutput():
                if tensor.procedure not in finished:
                    finished[tensor.procedure] = _run_procedure(tensor.procedure, arrays)
                arrays[tensor] = finished[tensor.procedure][tensor.index]
            case _:
                _check_feed(tensor, arrays)
    return [arrays[output] for output in outputs]


def _words(tensor: Computed, arrays: Mapping[Tensor, Array]) -> dict[Tensor, Array]:
    """The arrays of word views that a tensor reads."""
    views = [load.tensor for load in loads(tensor.body) if isinstance(load.tensor, WordView)]
    return {
        view: np.ascontiguousarray(arrays[view.viewed]).view("<i4").reshape(view.shape)
        for view in views
    }


def _check_feed(tensor: Tensor, arrays: Mapping[Tensor, Array]) -> None:
    if tensor not in arrays:
        raise KeyError(f"no array is given for the input {tensor.name}")
    array = arrays[tensor]
    if (array.shape, array.dtype) != (tensor.shape, numpy_dtype(tensor.dtype)):
        raise ValueError(
            f"input {tensor.name} is {tensor.dtype}{tensor.shape}, "
            f"but the array is {array.dtype}{array.shape}"
        )


def _run_procedure(procedure: Procedure, arrays: Mapping[Tensor, Array]) -> tuple[Array, ...]:
    """The outputs of a procedure."""
    outputs = tuple(np.zeros(b.shape, numpy_dtype(b.dtype)) for b in procedure.output_buffers)
    buffers: dict[Tensor, Array] = dict(zip(procedure.output_buffers, outputs, strict=True))
    for buffer, tensor in zip(procedure.input_buffers, procedure.inputs, strict=True):
        buffers[buffer] = arrays[tensor]
    run_loops(procedure.body, buffers)
    return outputs


def _evaluate_computed(tensor: Computed, arrays: Mapping[Tensor, Array]) -> Array:
    """All elements of a tensor, a block of the outermost axis at a time."""
    result = np.empty(tensor.shape, numpy_dtype(tensor.dtype))
    if result.size == 0:
        return result
    reduction = tensor.body if isinstance(tensor.body, Reduce) else None
    axes = tensor.axes + (reduction.axes if reduction is not None else ())
    for rows in _blocks(tensor, axes):
        grid = _grid(axes, rows)
        shape = np.broadcast_shapes(*(values.shape for values in grid.values()))
        body = tensor.body if reduction is None else reduction.body
        values = np.broadcast_to(scalar_value(body, grid, arrays), shape)
        if reduction is not None:
            reduced = tuple(range(len(tensor.axes), len(axes)))
            values = apply_reduction(reduction.operation, values, reduced)
        result[rows if tensor.axes else ...] = values
    return result


def _blocks(tensor: Computed, axes: Sequence[Axis]) -> Iterator[slice]:
    """Ranges of the outermost axis of `tensor` that keep the grid small."""
    if not tensor.axes:
        yield slice(None)
        return
    extent = tensor.axes[0].extent
    row = max(1, math.prod(axis.extent for axis in axes) // extent)
    step = max(1, GRID_LIMIT // row)
    for begin in range(0, extent, step):
        yield slice(begin, min(begin + step, extent))


def _grid(axes: Sequence[Axis], rows: slice) -> dict[Axis, Array]:
    """For each axis its values, shaped to broadcast against the others; `rows` of the first."""
    grid: dict[Axis, Array] = {}
    for index, axis in enumerate(axes):
        numbers = np.arange(axis.extent, dtype=np.int64)
        values = numbers[rows] if index == 0 else numbers
        grid[axis] = values.reshape((-1,) + (1,) * (len(axes) - index - 1))
    return grid
