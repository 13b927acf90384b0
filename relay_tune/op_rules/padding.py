"""Operators that read elements around their data, so that others may write them.

nn.conv2d(%x, W, padding=[1, 1]) reads zeros; nn.max_pool2d reads less than any number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from relay_tune.ir.expr import Call
from relay_tune.op_rules.matching import attribute, tensor_type
from relay_tune.op_rules.table import OperatorTable
from relay_tune.typing.windows import pad_pairs

Widths: TypeAlias = tuple[tuple[int, int], ...]
"""How many elements are added before and after, by axis."""


@dataclass(frozen=True, slots=True)
class Padding:
    """What a call reads around its first argument.

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


def _maximum_padding(call: Call) -> Padding | None:
    """Less than any number, around images of floats."""
    type_ = tensor_type(call.arguments[0])
    if type_ is None or type_.dtype not in ("float32", "float64", "float16"):
        return None
    if attribute(call, "ceil_mode", False):
        return None
    return _padding(call, attribute(call, "layout"), -math.inf)


def _padding(call: Call, layout: str, value: float) -> Padding | None:
    data = tensor_type(call.arguments[0])
    if data is None or not layout.isalpha():
        return None
    pairs = pad_pairs(attribute(call, "padding"), len(layout) - 2)
    if not any(map(any, pairs)):
        return None
    spatial = iter(pairs)
    widths = tuple((0, 0) if letter in "NC" else next(spatial) for letter in layout)
    sizes = zip(widths, data.shape, strict=True)
    if any(any(pair) and not isinstance(size, int) for pair, size in sizes):
        return None
    return Padding(widths, value)


PADDING: OperatorTable[PaddingRule] = OperatorTable(
    dict.fromkeys(("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"), _maximum_padding)
)
