"""decisive: what conditions of derivatives mark, and kernels of which it was found.

    %r = nn.relu(nn.conv2d(%x, %w));
    %d = where(decisive(greater(%r, 0f)), %dr, 0f)

A relu has no jump, its slope has one. So the roundings of all that `%r` is computed from decide on
whole elements of `%d`, where those of `%dr` change its last digits. What computes `%r` has the
attribute `Decisive` as a kernel: it adds up as direct sums do.
"""

from __future__ import annotations

from relay_tune.ir.expr import Attributes, AttributeValue, Function
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, elementwise_computation
from relay_tune.typing.relations.elementwise import identity

DECISIVE = "Decisive"


def is_decisive(function: Function) -> bool:
    """Whether the roundings of a primitive decide conditions of derivatives."""
    return function.attributes.get(DECISIVE) == 1


def part_attributes(whole: Function) -> dict[str, AttributeValue]:
    """The attributes of a primitive that computes a part of another one, or several of it."""
    return {"Primitive": 1, **({DECISIVE: 1} if is_decisive(whole) else {})}


def _copied(attributes: Attributes, data: Array) -> Array:
    return data.copy()


decisive = define(
    name="decisive",
    arguments=("data",),
    relation=identity,
    kind=FusionKind.ELEMENTWISE,
    compute=elementwise_computation("decisive", lambda element: element),
    reference=_copied,
    documentation="The data, by which a derivative chooses: what they are computed from is added "
    "up as direct sums are, also where builds allow algorithms that round more.",
)
