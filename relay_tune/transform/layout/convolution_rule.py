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

from collections.abc import Callable, Iterable, Sequence

from relay_tune.ir.expr import Call, Constant, Expr, Tuple, Var
from relay_tune.ir.types import TensorType, Type
from relay_tune.op_rules.matching import (
    attribute,
    example_type,
    operator_name,
    rank,
    static_shape,
    tensor_type,
)
from relay_tune.op_rules.typed import recall
from relay_tune.transform.layout.kernel_cost import kernel_cycles
from relay_tune.transform.layout.movement_rules import REDUCTIONS, is_to_channels_last
from relay_tune.transform.layout.versions import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    Version,
    Versions,
    relayout,
    to_channels_first,
    to_channels_last,
)
from relay_tune.transform.layout.window_rules import LAYOUT_OPERATORS
from relay_tune.transform.weighted import CONVOLUTIONS, TRANSPOSED_CONVOLUTIONS
from relay_tune.typing.relations.support import as_tuple

CONVOLUTION_OPERATORS = (*CONVOLUTIONS, *TRANSPOSED_CONVOLUTIONS)
READERS = frozenset({*CONVOLUTION_OPERATORS, *LAYOUT_OPERATORS, *REDUCTIONS})


def convolution(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A channels-first convolution in the form that costs least."""
    data, weight = call_.arguments
    dims = rank(data)
    data_layout, kernel_layout = attribute(call_, "data_layout"), attribute(call_, "kernel_layout")
    if dims is None or CHANNELS_FIRST.get(dims) != data_layout or not kernel_layout.isalpha():
        return None
    if attribute(call_, "out_layout", "") not in ("", data_layout):
        return None
    is_last = call_ not in versions.wanted_channels_last
    is_inside = versions.has(data, Version.CHANNELS_LAST) and operator_name(data) != "transpose"
    is_border = is_last or not is_inside
    if is_border and _costs_less_channels_first(call_, versions):
        if is_last:
            return None
        arguments = (versions.original(data), versions.original(weight))
        return {Version.CHANNELS_LAST: _writing_channels_last(call_, *arguments)}
    arguments = (versions.channels_last(data), versions.original(weight))
    return {Version.CHANNELS_LAST: _channels_last(call_, *arguments)}


def read_by_convolutions(nodes: Sequence[Expr], follows: Callable[[Call], bool]) -> frozenset[Expr]:
    """The values of `nodes`, producers first, that reach a convolution as its data, or a pool.

    So do those that the program itself makes channels last. What is behind a pool is too small to
    matter. On the way are operators that work in either layout: those that `follows` holds for.
    """
    wanted: set[Expr] = set()
    for node in reversed(nodes):
        if isinstance(node, Call) and _reads_channels_last(node):
            wanted.add(node.arguments[0])
        elif node in wanted:
            wanted.update(_passed_on(node, follows))
    return frozenset(wanted)


def _reads_channels_last(call_: Call) -> bool:
    name = operator_name(call_)
    return name in READERS or (name == "transpose" and is_to_channels_last(call_))


def _passed_on(node: Expr, follows: Callable[[Call], bool]) -> Iterable[Expr]:
    if isinstance(node, Tuple):
        return node.fields
    return node.arguments if isinstance(node, Call) and follows(node) else ()


def _costs_less_channels_first(call_: Call, versions: Versions) -> bool:
    """Whether a convolution at the border should read channels-first data."""
    data, weight = call_.arguments
    machine = versions.machine
    image_type = tensor_type(data)
    if machine is None or image_type is None or static_shape(weight) is None:
        return False
    image = _variable("data", _example_image(call_, image_type))
    moved = to_channels_last(image)
    converted = _variable("data", moved.type)
    factor = weight if isinstance(weight, Constant) else _variable("w", weight.type)

    def cycles(params: tuple[Expr, ...], body: Expr) -> float:
        variables = tuple(param for param in params if isinstance(param, Var))
        return kernel_cycles(variables, body, machine, versions.accuracy)

    channels_last = _channels_last(call_, converted, factor)
    if call_ in versions.wanted_channels_last:
        first = cycles((image, factor), _writing_channels_last(call_, image, factor))
        last = cycles((converted, factor), channels_last)
    else:
        first = cycles((image, factor), recall(call_, (image, factor)))
        last = cycles((converted, factor), to_channels_first(channels_last))
    if not versions.has(data, Version.ORIGINAL):
        first += cycles((converted,), to_channels_first(converted))
    if not versions.has(data, Version.CHANNELS_LAST):
        last += cycles((image,), moved)
    return first <= last


def _example_image(call_: Call, type_: TensorType) -> TensorType:
    """The data of a channels-first convolution, where sizes are open one that windows fit in."""
    example = list(example_type(type_).shape)
    kernel = static_shape(call_.arguments[1]) or ()
    sizes = dict(zip(attribute(call_, "kernel_layout"), kernel, strict=True))
    groups = 1 if operator_name(call_) in TRANSPOSED_CONVOLUTIONS else attribute(call_, "groups")
    for axis, letter in enumerate(attribute(call_, "data_layout")):
        if isinstance(type_.shape[axis], int):
            continue
        if letter == "C":
            example[axis] = sizes["I"] * groups
        elif letter != "N" and isinstance(found := example[axis], int):
            dilation = max(as_tuple(attribute(call_, "dilation"), len(example) - 2, "dilation"))
            example[axis] = max(found, 2 * dilation * sizes[letter])
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
