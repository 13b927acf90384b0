"""Operators that read elements around their data, so that others may write them.

nn.conv2d(%x, W, padding=[1, 1]) reads zeros; nn.max_pool2d reads the least number of its type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.dim_arithmetic import add, substitute, symbol_names
from relay_tune.ir.expr import Call
from relay_tune.op.window_fit import window_rooms
from relay_tune.op_rules.matching import attribute, tensor_type
from relay_tune.op_rules.table import OperatorTable
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.relations.slice_sizes import OPEN_END, sliced_size
from relay_tune.typing.windows import pad_pairs

_LEAST = {
    **dict.fromkeys(("float32", "float64", "float16"), -math.inf),
    **{"uint8": 0.0, "int8": -128.0},
}
"""The least number of types that images have."""

Widths: TypeAlias = tuple[tuple[int, int], ...]
"""How many elements are added before and after, by axis."""


@dataclass(frozen=True, slots=True)
class Padding:
    """Padding that a call reads around its first argument.

    Attributes:
        widths: how far, by axis.
        value: the elements there.
    """

    widths: Widths
    value: float


PaddingRule: TypeAlias = Callable[[Call], Padding | None]
"""rule(call) -> what its attribute `padding` stands for, or None if that is nothing that a pad of
the data could be."""


def convolution_padding(call: Call) -> Padding | None:
    """Zeros around an image."""
    return _padding(call, attribute(call, "data_layout"), 0.0)


def padded_widths(call: Call, layout: str) -> Widths:
    """How far the attribute `padding` reaches around data of a layout of letters."""
    spatial = iter(pad_pairs(attribute(call, "padding"), len(layout) - 2))
    return tuple((0, 0) if letter in "NC" else next(spatial) for letter in layout)


def _maximum_padding(call: Call) -> Padding | None:
    """No more than any number, around images."""
    type_ = tensor_type(call.arguments[0])
    least = None if type_ is None else _LEAST.get(type_.dtype)
    if least is None or attribute(call, "ceil_mode", False):
        return None
    return _padding(call, attribute(call, "layout"), least)


def _padding(call: Call, layout: str, value: float) -> Padding | None:
    data = tensor_type(call.arguments[0])
    if data is None or not layout.isalpha():
        return None
    widths = padded_widths(call, layout)
    if not any(map(any, widths)):
        return None
    sizes = zip(data.shape, widths, strict=True)
    if not all(_can_be_cut_off(size, *pair) for size, pair in sizes if any(pair)):
        return None
    return Padding(widths, value) if _fits_one_element(call) else None


def _fits_one_element(call: Call) -> bool:
    """Whether a window fits where each dynamic size is 1.

    Where it may not, the least size that an error names has to be that of the data as the user
    knows them, without stored padding.
    """
    rooms = [each.room for each in window_rooms(call)]
    ones = [substitute(room, dict.fromkeys(symbol_names(room), 1)) for room in rooms]
    return all(isinstance(room, int) and room >= 0 for room in ones)


def _can_be_cut_off(size: Dim, before: int, after: int) -> bool:
    """Whether it is known that a slice of the padded axis without its padding has `size`."""
    if isinstance(size, UnknownDim):
        return False
    return sliced_size(add(size, before + after), before, -after or OPEN_END, 1) == size


PADDING: OperatorTable[PaddingRule] = OperatorTable(
    dict.fromkeys(("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"), _maximum_padding)
)
