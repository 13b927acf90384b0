"""nn.max_pool1d/2d/3d, nn.avg_pool1d/2d/3d."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import Compute, FusionKind, Operator, Reference, Relation, define
from relay_tune.op.elements import Array
from relay_tune.op.layout_arrays import as_stored, as_whole
from relay_tune.op.layout_indices import spatial_letters
from relay_tune.op.nn.window_reduction import (
    average_windows,
    average_windows_array,
    reduce_windows,
    reduce_windows_array,
)
from relay_tune.op.nn.windows import Windows, windows_of
from relay_tune.op.spatial_attributes import by_spatial_axes
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Tensor
from relay_tune.typing.relations.pooling import pool as pool_relation
from relay_tune.typing.relations.support import as_tuple
from relay_tune.typing.windows import pool_window_count, window_count_rounded_up


@dataclass(frozen=True)
class MaxPoolAttributes(Attributes):
    """Attributes of a maximum over windows; a single number counts for every spatial axis.

    Attributes:
        pool_size: sizes of the window.
        strides: steps of the window.
        dilation: distance of neighbouring elements of the window.
        padding: room around the data: 1 number, 1 an axis, or all befores then all afters.
        layout: layout of the data, such as NCHW, NHWC, NCHW16c.
        out_layout: layout of the result; empty: that of the data.
        ceil_mode: whether a last window that is not full counts, if it begins in the data or
            before it.
    """

    pool_size: int | tuple[int, ...] = (1,)
    strides: int | tuple[int, ...] = (1,)
    dilation: int | tuple[int, ...] = (1,)
    padding: int | tuple[int, ...] = (0,)
    layout: str = "NC*"
    out_layout: str = ""
    ceil_mode: bool = False


@dataclass(frozen=True)
class AvgPoolAttributes(MaxPoolAttributes):
    """Attributes of an average over windows: those of a maximum, and what is averaged.

    Attributes:
        count_include_pad: whether elements of the padding count, as zeros.
    """

    count_include_pad: bool = False


MaxPool1DAttributes, MaxPool2DAttributes, MaxPool3DAttributes = by_spatial_axes(MaxPoolAttributes)
AvgPool1DAttributes, AvgPool2DAttributes, AvgPool3DAttributes = by_spatial_axes(AvgPoolAttributes)


def pool_windows(attributes: Any) -> Windows:
    """The windows of a pool's attributes."""
    rank = len(spatial_letters(attributes.layout))
    return windows_of(attributes, as_tuple(attributes.pool_size, rank, "pool_size"))


def layouts_of(attributes: Any) -> tuple[str, str]:
    """The layouts of the data and of the result."""
    return attributes.layout, attributes.out_layout or attributes.layout


def whole_data(attributes: Any, data: Array) -> Array:
    """The data as [batch, channel, spatial ...]."""
    return as_whole(data, attributes.layout, "NC" + spatial_letters(attributes.layout))


def stored_result(attributes: Any, result: Array) -> Array:
    """A result [batch, channel, spatial ...] in the layout that is asked for."""
    return as_stored(result, "NC" + spatial_letters(attributes.layout), layouts_of(attributes)[1])


def _output_sizes(attributes: Any, windows: Windows, sizes: Sequence[int]) -> list[int]:
    count = window_count_rounded_up if attributes.ceil_mode else pool_window_count
    found = [
        count(
            letter,
            sizes[n],
            windows.size[n],
            windows.strides[n],
            windows.dilation[n],
            (windows.before[n], windows.after[n]),
        )
        for n, letter in enumerate(spatial_letters(attributes.layout))
    ]
    return [size for size in found if isinstance(size, int)]


def _max_pool(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    windows = pool_windows(attributes)
    return [reduce_windows("max", inputs[0], windows, layouts_of(attributes), types[0].shape)]


def _max_pool_reference(attributes: Any, data: Array) -> Array:
    windows, values = pool_windows(attributes), whole_data(attributes, data)
    outputs = _output_sizes(attributes, windows, values.shape[2:])
    return stored_result(attributes, reduce_windows_array("max", values, windows, outputs))


def _avg_pool(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    windows, layouts = pool_windows(attributes), layouts_of(attributes)
    include_padding = attributes.count_include_pad
    return [average_windows(inputs[0], windows, layouts, types[0].shape, include_padding)]


def _avg_pool_reference(attributes: Any, data: Array) -> Array:
    windows, values = pool_windows(attributes), whole_data(attributes, data)
    outputs = _output_sizes(attributes, windows, values.shape[2:])
    result = average_windows_array(values, windows, outputs, attributes.count_include_pad)
    return stored_result(attributes, result)


def define_pools(
    kind: str,
    records: Sequence[type[Attributes]],
    compute: Compute,
    reference: Reference,
    meaning: str,
    relation: Relation = pool_relation,
) -> Iterator[Operator]:
    """Enter nn.KIND_pool1d, 2d and 3d, whose attributes are of these records."""
    for rank, attributes in enumerate(records, start=1):
        yield define(
            name=f"nn.{kind}_pool{rank}d",
            arguments=("data",),
            relation=relation,
            kind=FusionKind.OUTPUT_FUSABLE,
            attributes=attributes,
            compute=compute,
            reference=reference,
            documentation=f"The {meaning.format(rank=rank)}.",
        )


max_pool1d, max_pool2d, max_pool3d = define_pools(
    "max",
    (MaxPool1DAttributes, MaxPool2DAttributes, MaxPool3DAttributes),
    _max_pool,
    _max_pool_reference,
    "maximum of each window over {rank} spatial axes",
)
avg_pool1d, avg_pool2d, avg_pool3d = define_pools(
    "avg",
    (AvgPool1DAttributes, AvgPool2DAttributes, AvgPool3DAttributes),
    _avg_pool,
    _avg_pool_reference,
    "average of each window over {rank} spatial axes",
)
