"""Constants of bytes of which pairs add up to little, as an attribute of primitives.

    fn (%x: Tensor[(8, 64), uint8], Bounded=((0, 1),)) { nn.dense(%x, constant int8[32, 64]) }

Some instructions multiply bytes and add two products in 16 bits, where larger sums saturate.
Constant 0, in the order of evaluation, may be multiplied by them in words along its dimension 1:
of its elements 2 n and 2 n + 1 there, those of one sign add up to at most 128.

Keys of primitives say so, since code for such constants is wrong for others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from relay_tune.ir.expr import Constant, Function
from relay_tune.ir.traversal import post_order
from relay_tune.machine.pattern import BOUNDED_BYTES

BOUNDED = "Bounded"


def bounded_dimensions(function: Function) -> tuple[tuple[int, int], ...]:
    """The constants of a primitive, by number, with a dimension each, of which that is known."""
    found: list[tuple[int, int]] = []
    match function.attributes.get(BOUNDED):
        case tuple() as listed:
            for each in listed:
                match each:
                    case (int(number), int(dimension)):
                        found.append((number, dimension))
    return tuple(found)


def constants_of(function: Function) -> list[Constant]:
    """The constants of a primitive in the order of evaluation, without numbers of rank 0."""
    nodes = post_order(function.body)
    return [node for node in nodes if isinstance(node, Constant) and node.data.ndim]


def with_bounded_dimensions(function: Function) -> Function:
    """A primitive that says which of its constants have such pairs, and no longer which had them.

    Itself if it says that already.
    """
    known = tuple(
        (number, dimension)
        for number, constant in enumerate(constants_of(function))
        for dimension in _bounded(constant.data)
    )
    if known == bounded_dimensions(function):
        return function
    plain = without_bounded_dimensions(function)
    if not known:
        return plain
    return replace(plain, attributes={**plain.attributes, BOUNDED: known})


def without_bounded_dimensions(function: Function) -> Function:
    """A primitive that says nothing of its constants; itself if it does not."""
    if BOUNDED not in function.attributes:
        return function
    kept = {name: value for name, value in function.attributes.items() if name != BOUNDED}
    return replace(function, attributes=kept)


def has_small_elements(data: np.ndarray) -> bool:
    """Whether pairs of a constant add up to little along any dimension, as those of 7 bits do."""
    most = BOUNDED_BYTES.most_pair // 2
    if data.dtype.name != BOUNDED_BYTES.right:
        return False
    return -most <= int(data.min(initial=0)) and int(data.max(initial=0)) <= most


def _bounded(data: np.ndarray) -> Iterator[int]:
    """The dimensions along which pairs of a constant add up to little."""
    if data.dtype.name != BOUNDED_BYTES.right:
        return
    are_small = has_small_elements(data)
    for dimension, size in enumerate(data.shape):
        if size > 1 and (are_small or _are_small(np.moveaxis(data, dimension, -1))):
            yield dimension


def _are_small(data: np.ndarray) -> bool:
    """Whether each pair along the last axis adds up to little; one left over is small by itself."""
    whole = data[..., : data.shape[-1] // 2 * 2].astype(np.int16)
    most = BOUNDED_BYTES.most_pair
    above = np.maximum(whole, 0)
    below = whole - above
    return all(np.all(np.abs(part[..., ::2] + part[..., 1::2]) <= most) for part in (above, below))
