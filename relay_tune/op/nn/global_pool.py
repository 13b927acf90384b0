"""nn.global_max_pool1d/2d/3d, nn.global_avg_pool1d/2d/3d."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.op.elements import Array
from relay_tune.op.layout_indices import letter_sizes, spatial_letters
from relay_tune.op.nn.pool import define_pools, layouts_of, stored_result, whole_data
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


_RECORDS = GlobalPool1DAttributes, GlobalPool2DAttributes, GlobalPool3DAttributes

global_max_pool1d, global_max_pool2d, global_max_pool3d = define_pools(
    "global_max",
    _RECORDS,
    _global_max,
    _global_max_reference,
    "maximum over all elements of {rank} spatial axes",
    global_pool_relation,
)
global_avg_pool1d, global_avg_pool2d, global_avg_pool3d = define_pools(
    "global_avg",
    _RECORDS,
    _global_avg,
    _global_avg_reference,
    "average over all elements of {rank} spatial axes",
    global_pool_relation,
)
