"""Type relations of convolutions, for any number of spatial axes and any layout.

Attributes: strides, padding, dilation, groups, channels, kernel_size, data_layout, kernel_layout,
out_layout, out_dtype, sum_bits. Data layouts have the axes N, C and spatial ones, kernel layouts O,
I and the same spatial ones; both may be blocked (NCHW16c, OIHW16i16o).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import floor_divide, multiply
from relay_tune.ir.operator import RelationContext, RelationError
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.layout import logical_dims, physical_shape
from relay_tune.typing.relations.matmul import result_dtype
from relay_tune.typing.relations.support import as_tuple, known_tensor, same_dim
from relay_tune.typing.type_text import type_text
from relay_tune.typing.windows import pad_pairs, transposed_size, window_count

MOST_BITS = 64
"""Of a sum of integers."""


def conv(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(data, weight with O = channels and I = input channels / groups)."""
    _require_bits(attributes)
    data = known_tensor(inputs[0])
    if data is None:
        return None
    sizes = logical_dims(data, attributes.data_layout)
    depth = _per_group(sizes["C"], attributes.groups, data)
    weight = _weight(inputs[1], data, attributes, context, depth, attributes.channels)
    if weight is None:
        return None
    kernel = logical_dims(weight, attributes.kernel_layout)
    _require_channels(attributes, kernel["O"], weight)
    if same_dim(kernel["I"], depth) is None:
        raise _channel_conflict(data, (sizes["C"], depth), weight, attributes, kernel["I"])
    _per_group(kernel["O"], attributes.groups, weight)
    return _result(data, weight, attributes, kernel["O"], _window_counts(sizes, kernel, attributes))


def conv_transpose(
    inputs: Sequence[Type], attributes: Any, context: RelationContext
) -> Type | None:
    """(data, weight with I = input channels and O = channels / groups); output_padding too."""
    _require_bits(attributes)
    data = known_tensor(inputs[0])
    if data is None:
        return None
    sizes = logical_dims(data, attributes.data_layout)
    _per_group(sizes["C"], attributes.groups, data)
    outputs = attributes.channels
    per_group = None if outputs is None else outputs // attributes.groups
    weight = _weight(inputs[1], data, attributes, context, sizes["C"], per_group)
    if weight is None:
        return None
    kernel = logical_dims(weight, attributes.kernel_layout)
    if same_dim(kernel["I"], sizes["C"]) is None:
        both = sizes["C"], sizes["C"]
        raise _channel_conflict(data, both, weight, attributes, kernel["I"])
    channels = multiply(kernel["O"], attributes.groups)
    _require_channels(attributes, channels, weight)
    return _result(data, weight, attributes, channels, _transposed_sizes(sizes, kernel, attributes))


def spatial_letters(layout_sizes: dict[str, Dim]) -> list[str]:
    """The axes that a window moves along, in the order of depth, height, width."""
    return [letter for letter in "DHW" if letter in layout_sizes]


def _weight(
    type_: Type,
    data: TensorType,
    attributes: Any,
    context: RelationContext,
    input_channels: Dim,
    output_channels: int | None,
) -> TensorType | None:
    """The weight's type, solved from the attributes channels and kernel_size if it is unknown."""
    weight = known_tensor(type_)
    if weight is not None:
        return weight
    if output_channels is None or attributes.kernel_size is None:
        return None
    spatial = spatial_letters(logical_dims(data, attributes.data_layout))
    window = as_tuple(attributes.kernel_size, len(spatial), "kernel_size")
    sizes: dict[str, Dim] = {"O": output_channels, "I": input_channels}
    sizes.update(zip(spatial, window, strict=True))
    weight = TensorType(physical_shape(sizes, attributes.kernel_layout), data.dtype)
    context.unify(type_, weight)
    return weight


def _per_group(channels: Dim, groups: int, tensor: TensorType) -> Dim:
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise RelationError(
            f"{groups} groups do not divide the {channels} channels of {type_text(tensor)}"
        )
    return floor_divide(channels, groups)


def _require_channels(attributes: Any, found: Dim, weight: TensorType) -> None:
    wanted = attributes.channels
    if wanted is not None and same_dim(wanted, found) is None:
        raise RelationError(
            f"attribute channels is {wanted}, but the weight {type_text(weight)} "
            f"({attributes.kernel_layout}) makes {found}",
            sizes=(wanted, found),
        )


def _require_bits(attributes: Any) -> None:
    if attributes.sum_bits and not 2 <= attributes.sum_bits <= MOST_BITS:
        raise RelationError(
            f"attribute sum_bits is {attributes.sum_bits}, which is neither 0 nor 2 to {MOST_BITS}"
        )


def _channel_conflict(
    data: TensorType, channels: tuple[Dim, Dim], weight: TensorType, attributes: Any, found: Dim
) -> RelationError:
    """The error of data with other channels, all of them and those that a window sees."""
    return RelationError(
        f"the data {type_text(data)} ({attributes.data_layout}) has {channels[0]} channels in "
        f"{attributes.groups} group(s), but the weight {type_text(weight)} "
        f"({attributes.kernel_layout}) has {found} input channels",
        sizes=(channels[1], found),
    )


def _window(kernel: dict[str, Dim], spatial: list[str], attributes: Any) -> list[Dim]:
    """The kernel's spatial sizes; attribute kernel_size must agree."""
    if spatial_letters(kernel) != spatial:
        raise RelationError(
            f"layouts {attributes.data_layout} and {attributes.kernel_layout} differ in their "
            "spatial axes"
        )
    found = [kernel[letter] for letter in spatial]
    if attributes.kernel_size is None:
        return found
    wanted = as_tuple(attributes.kernel_size, len(spatial), "kernel_size")
    if any(same_dim(one, other) is None for one, other in zip(wanted, found, strict=True)):
        raise RelationError(
            f"attribute kernel_size is {wanted}, but the weight's window is "
            f"({', '.join(map(str, found))})"
        )
    return list(wanted)


def _window_counts(sizes: dict[str, Dim], kernel: dict[str, Dim], attributes: Any) -> list[Dim]:
    spatial = spatial_letters(sizes)
    strides = as_tuple(attributes.strides, len(spatial), "strides")
    dilation = as_tuple(attributes.dilation, len(spatial), "dilation")
    pads = pad_pairs(attributes.padding, len(spatial))
    window = _window(kernel, spatial, attributes)
    return [
        window_count(letter, sizes[letter], window[i], strides[i], dilation[i], pads[i])
        for i, letter in enumerate(spatial)
    ]


def _transposed_sizes(sizes: dict[str, Dim], kernel: dict[str, Dim], attributes: Any) -> list[Dim]:
    spatial = spatial_letters(sizes)
    strides = as_tuple(attributes.strides, len(spatial), "strides")
    dilation = as_tuple(attributes.dilation, len(spatial), "dilation")
    extra = as_tuple(attributes.output_padding, len(spatial), "output_padding")
    pads = pad_pairs(attributes.padding, len(spatial))
    window = _window(kernel, spatial, attributes)
    return [
        transposed_size(sizes[letter], window[i], strides[i], dilation[i], pads[i], extra[i])
        for i, letter in enumerate(spatial)
    ]


def _result(
    data: TensorType, weight: TensorType, attributes: Any, channels: Dim, spatial_sizes: list[Dim]
) -> TensorType:
    sizes = logical_dims(data, attributes.data_layout)
    sizes["C"] = channels
    sizes.update(zip(spatial_letters(sizes), spatial_sizes, strict=True))
    layout = getattr(attributes, "out_layout", "") or attributes.data_layout
    dtype = result_dtype("convolution", data, weight, attributes)
    return TensorType(physical_shape(sizes, layout), dtype)
