"""Convolutions: channels last, or reading the image as it lies where that costs less.

Inside of a network data and results are channels last. The convolutions at its border have a
choice; both forms are estimated as kernels, conversions included:

    data      result            form
    NCHW      read by another   conv(data_layout=NCHW, out_layout=NHWC), or conv(convert(data))
    NCHW      read as NCHW      the convolution as it is, or convert(conv(convert(data)))
    NHWC      read as NCHW      conv(convert(data)), or convert(conv(data))

A transpose of the program from NHWC to NCHW is no conversion before it is chosen: its argument is
the data channels last. What the program itself transposes to NHWC is read as NHWC.
"""

from __future__ import annotations

from functools import partial

from relay_tune.ir.expr import Call, Constant, Expr, Var
from relay_tune.ir.types import TensorType, Type
from relay_tune.op_rules.layout.rule import LayoutRule, always
from relay_tune.op_rules.layout.versions import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    Version,
    Versions,
    relayout,
    to_channels_first,
    to_channels_last,
)
from relay_tune.op_rules.matching import (
    attribute,
    example_type,
    operator_call,
    rank,
    static_shape,
    tensor_type,
)
from relay_tune.op_rules.typed import recall
from relay_tune.tensor.size import EXAMPLE_IMAGES, example_side
from relay_tune.typing.relations.support import as_tuple

IMAGE_SIDE = 256
"""The open height and width of a network's images in the example; layers behind strides have less.

Where a network becomes channels-first again is a close decision, which large images take: small
ones take little time.
"""


def convolution(
    call_: Call, versions: Versions, *, is_transposed: bool
) -> dict[Version, Expr] | None:
    """A channels-first convolution in the form that costs least."""
    data, weight = call_.arguments
    dims = rank(data)
    data_layout, kernel_layout = attribute(call_, "data_layout"), attribute(call_, "kernel_layout")
    if dims is None or CHANNELS_FIRST.get(dims) != data_layout or not kernel_layout.isalpha():
        return None
    if attribute(call_, "out_layout", "") not in ("", data_layout):
        return None
    is_last = call_ not in versions.wanted_channels_last
    is_inside = versions.has(data, Version.CHANNELS_LAST) and not operator_call(data, "transpose")
    is_border = is_last or not is_inside
    if is_border and _costs_less_channels_first(call_, versions, is_transposed):
        if is_last:
            return None
        arguments = (versions.original(data), versions.original(weight))
        return {Version.CHANNELS_LAST: _writing_channels_last(call_, *arguments)}
    arguments = (versions.channels_last(data), versions.original(weight))
    return {Version.CHANNELS_LAST: _channels_last(call_, *arguments)}


def _costs_less_channels_first(call_: Call, versions: Versions, is_transposed: bool) -> bool:
    """Whether a convolution at the border should read channels-first data."""
    data, weight = call_.arguments
    cost = versions.cost
    image_type = tensor_type(data)
    if cost is None or image_type is None or static_shape(weight) is None:
        return False
    image = _variable("data", _example_image(call_, image_type, is_transposed))
    moved = to_channels_last(image)
    converted = _variable("data", moved.type)
    factor = weight if isinstance(weight, Constant) else _variable("w", weight.type)

    channels_last = _channels_last(call_, converted, factor)
    if call_ in versions.wanted_channels_last:
        first = cost(_writing_channels_last(call_, image, factor))
        last = cost(channels_last)
    else:
        first = cost(recall(call_, (image, factor)))
        last = cost(to_channels_first(channels_last))
    if not versions.has(data, Version.ORIGINAL):
        first += cost(to_channels_first(converted))
    if not versions.has(data, Version.CHANNELS_LAST):
        last += cost(moved)
    return first <= last


def _example_image(call_: Call, type_: TensorType, is_transposed: bool) -> TensorType:
    """The data of a channels-first convolution, where sizes are open one that windows fit in."""
    example = list(example_type(type_).shape)
    large = example_type(type_, IMAGE_SIDE).shape
    kernel = static_shape(call_.arguments[1]) or ()
    sizes = dict(zip(attribute(call_, "kernel_layout"), kernel, strict=True))
    groups = 1 if is_transposed else attribute(call_, "groups")
    side = example_side(sizes["I"] * groups)
    for axis, letter in enumerate(attribute(call_, "data_layout")):
        if isinstance(type_.shape[axis], int):
            continue
        if letter == "N":
            example[axis] = EXAMPLE_IMAGES
        elif letter == "C":
            example[axis] = sizes["I"] * groups
        elif isinstance(found := large[axis], int):
            dilation = max(as_tuple(attribute(call_, "dilation"), len(example) - 2, "dilation"))
            example[axis] = max(found, side, 2 * dilation * sizes[letter])
    return TensorType(tuple(example), type_.dtype)


def _variable(name: str, type_: Type | None) -> Var:
    return Var(name, type_, type=type_)


def _channels_last(call_: Call, data: Expr, weight: Expr) -> Call:
    layout = CHANNELS_LAST[rank(data) or 0]
    kernel = _kernel(call_, weight, layout)
    target = _kernel_layout(layout)
    changes = {"data_layout": layout, "kernel_layout": target, "out_layout": ""}
    return recall(call_, (data, kernel), **changes)


def _writing_channels_last(call_: Call, data: Expr, weight: Expr) -> Call:
    layout = CHANNELS_LAST[rank(data) or 0]
    kernel = _kernel(call_, weight, layout)
    return recall(call_, (data, kernel), kernel_layout=_kernel_layout(layout), out_layout=layout)


def _kernel(call_: Call, weight: Expr, layout: str) -> Expr:
    return relayout(weight, attribute(call_, "kernel_layout"), _kernel_layout(layout))


def _kernel_layout(layout: str) -> str:
    """HWIO for NHWC, and so on."""
    return layout[1:-1] + "IO"


CONVOLUTION, TRANSPOSED_CONVOLUTION = (
    LayoutRule(
        partial(convolution, is_transposed=is_transposed),
        starts_region=True,
        reads_channels_last=always,
    )
    for is_transposed in (False, True)
)
