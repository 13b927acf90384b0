"""nn.global_max_pool1d/2d/3d, nn.global_avg_pool1d/2d/3d."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import Compute, Operator, Reference
from relay_tune.op.elements import Array
from relay_tune.op.layout_indices import letter_sizes, spatial_letters
from relay_tune.op.nn.pool import layouts_of, register_pool, stored_result, whole_data
from relay_tune.op.nn.window_reduction import (
    average_windows,
    divide_array,
    reduce_windows,
    sum_dtype,
)
from relay_tune.op.nn.windows import Windows
from relay_tune.op.spatial_attributes import by_spatial_axes
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.typing.relations.pooling import global_pool as global_pool_relation


@dataclass(frozen=True)
class GlobalPoolAttributes(Attributes):
    """Attributes of a pool over all spatial elements.

    Attributes:
        layout: layout of the data, such as NCHW, NHWC, NCHW16c.
        out_layout: layout of the result; empty: that of the data.
    """

    layout: str = "NC*"
    out_layout: str = ""


GlobalPool1DAttributes, GlobalPool2DAttributes, GlobalPool3DAttributes = by_spatial_axes(
    GlobalPoolAttributes
)


def _whole_window(attributes: GlobalPoolAttributes, data: Tensor) -> Windows:
    """The one window that covers all data."""
    sizes = letter_sizes(data.shape, attributes.layout)
    size = tuple(sizes[letter] for letter in spatial_letters(attributes.layout))
    ones, zeros = (1,) * len(size), (0,) * len(size)
    return Windows(size, strides=ones, dilation=ones, before=zeros, after=zeros)


def _global_max(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    (data,) = inputs
    windows = _whole_window(attributes, data)
    return [reduce_windows("max", data, windows, layouts_of(attributes), types[0].shape)]


def _global_avg(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    (data,) = inputs
    windows = _whole_window(attributes, data)
    return [average_windows(data, windows, layouts_of(attributes), types[0].shape, True)]


def _global_max_reference(attributes: GlobalPoolAttributes, data: Array) -> Array:
    values = whole_data(attributes, data)
    spatial = tuple(range(2, values.ndim))
    return stored_result(attributes, values.max(axis=spatial, keepdims=True))


def _global_avg_reference(attributes: GlobalPoolAttributes, data: Array) -> Array:
    values = whole_data(attributes, data)
    spatial = tuple(range(2, values.ndim))
    dtype = numpy_dtype(sum_dtype(data.dtype.name))
    total = values.sum(axis=spatial, keepdims=True, dtype=dtype)
    count = np.asarray(prod(values.shape[2:]), "int64")
    return stored_result(attributes, divide_array(total, count).astype(data.dtype))


def _register(
    word: str, rank: int, attributes: type[Attributes], compute: Compute, reference: Reference
) -> Operator:
    found = {"max": "maximum", "avg": "average"}[word]
    meaning = f"{found} over all elements of {rank} spatial axes"
    computations = compute, reference
    return register_pool(
        f"global_{word}", rank, attributes, computations, meaning, global_pool_relation
    )


global_max_pool1d = _register("max", 1, GlobalPool1DAttributes, _global_max, _global_max_reference)
global_max_pool2d = _register("max", 2, GlobalPool2DAttributes, _global_max, _global_max_reference)
global_max_pool3d = _register("max", 3, GlobalPool3DAttributes, _global_max, _global_max_reference)
global_avg_pool1d = _register("avg", 1, GlobalPool1DAttributes, _global_avg, _global_avg_reference)
global_avg_pool2d = _register("avg", 2, GlobalPool2DAttributes, _global_avg, _global_avg_reference)
global_avg_pool3d = _register("avg", 3, GlobalPool3DAttributes, _global_avg, _global_avg_reference)
