"""Inputs of primitives that have room between their parts: slices along an axis of larger tensors.

    fn (%p0: Tensor[(1, 12, n, 64), float32], Spaced=((0, 2),)) { nn.softmax(%p0) }

Element (b, h, i, d) of input 0 lies at ((b * 12 + h) * c0 + i) * 64 + d, where c0, a size of each
run, is at least n. So lies a cache with room for more than its n rows. The attribute `Spaced` lists
inputs, tuples flattened, each with its axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay_tune.ir.expr import Function

SPACED = "Spaced"


def spaced_inputs(function: Function) -> dict[int, int]:
    """The axis along which each input of a primitive that has room has it."""
    found: dict[int, int] = {}
    match function.attributes.get(SPACED):
        case tuple() as listed:
            for each in listed:
                match each:
                    case (int(index), int(axis)):
                        found[index] = axis
    return found


def room_symbol(place: int) -> str:
    """The name of the size of the larger tensor along the axis."""
    return f"c{place}"


def with_spaced_inputs(function: Function, axes: Mapping[int, int]) -> Function:
    """A primitive that reads some inputs, with their axes, out of larger tensors."""
    attributes = {**function.attributes, SPACED: tuple(sorted(axes.items()))}
    return replace(function, attributes=attributes)
