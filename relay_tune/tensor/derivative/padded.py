"""Sums whose windows leave a tensor: zeros are put around it once instead of asked for inside.

before:  sum over k of d[t - k] * w[k]        t - k may be less than 0
after:   p = d with zeros around it;  sum over k of p[t - k + 2] * w[k]

That is right where the element outside is a factor of all that is summed, which is finite. All else
is left out by a condition inside the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.derivative.scalar_adjoints import is_polynomial
from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Cast,
    Literal,
    Load,
    Scalar,
    Select,
    Tensor,
    Unary,
    binary,
    literal,
    select,
)
from relay_tune.tensor.index import axis_range, decide
from relay_tune.tensor.scalar_semantics import is_float
from relay_tune.tensor.size import surely_less
from relay_tune.tensor.tensor import compute
from relay_tune.tensor.walk import loads, transform

Room = tuple[tuple[int, int], ...]
"""The least and the greatest index of each dimension that is read."""


@dataclass(frozen=True, slots=True)
class Windowed:
    """A summand at windows that may lie outside.

    Attributes:
        value: what is summed.
        windows: for each axis that was solved for, its value.
    """

    value: Scalar
    windows: Mapping[Axis, Scalar]


def made_safe(parts: Sequence[Windowed]) -> list[Scalar]:
    """The values of all parts, zero where a window lies outside; tensors are padded once."""
    needs_room = [part for part in parts if _leaves(part)]
    padding = [part for part in needs_room if _is_paddable(part)]
    rooms = _rooms([load for part in padding for load in loads(part.value)])
    if rooms is None:
        padding, rooms = [], {}
    padded = {tensor: _padded(tensor, room) for tensor, room in rooms.items()}

    def moved(node: Scalar) -> Scalar:
        if not isinstance(node, Load) or node.tensor not in padded:
            return node
        pairs = zip(node.indices, rooms[node.tensor], strict=True)
        shifted = tuple(index + -low if low else index for index, (low, _) in pairs)
        return Load(padded[node.tensor], shifted, dtype=node.dtype)

    return [
        transform(part.value, moved)
        if part in padding
        else masked(part)
        if part in needs_room
        else part.value
        for part in parts
    ]


def masked(part: Windowed) -> Scalar:
    """The value, zero where a window lies outside."""
    value = part.value
    for axis, position in part.windows.items():
        for condition in (binary("ge", position, 0), binary("lt", position, axis.extent)):
            if decide(condition) is not True:
                value = select(condition, value, literal(0.0, value.dtype))
    return value


def _leaves(part: Windowed) -> bool:
    return any(not _is_inside(position, axis.extent) for axis, position in part.windows.items())


def _is_inside(position: Scalar, extent: int) -> bool:
    form = axis_affine(position)
    if form is None:
        return False
    low, high = form.bounds(axis_range)
    return surely_less(-1, low) and surely_less(high, extent)


def _is_paddable(part: Windowed) -> bool:
    """Whether zeros around tensors make the value zero where a window lies outside."""
    if not is_polynomial(part.value):
        return False
    outside = [(a, p) for a, p in part.windows.items() if not _is_inside(p, a.extent)]
    factors = list(_factors(part.value))
    return all(any(_is_read_at(load, *window) for load in factors) for window in outside)


def _is_read_at(load: Load, axis: Axis, position: Scalar) -> bool:
    """Whether a load leaves its tensor where a window lies outside."""
    wanted = axis_affine(position)
    return any(
        size == axis.extent and axis_affine(index) == wanted
        for index, size in zip(load.indices, load.tensor.shape, strict=True)
    )


def _factors(value: Scalar) -> Iterator[Load]:
    """Loads of floats that make a value zero where they are zero."""
    match value:
        case Load() if is_float(value.dtype):
            yield value
        case Cast(operand=x) | Unary(operation="neg", operand=x):
            yield from _factors(x)
        case Binary(operation="mul", left=left, right=right):
            yield from _factors(left)
            yield from _factors(right)
        case Select(if_true=kept, if_false=Literal(value=0)):
            yield from _factors(kept)
        case Select(if_true=Literal(value=0), if_false=kept):
            yield from _factors(kept)


def _rooms(found: Sequence[Load]) -> dict[Tensor, Room] | None:
    """The indices that are read of each tensor that loads leave; None where they are not known."""
    rooms: dict[Tensor, Room] = {}
    for load in found:
        forms = [axis_affine(index) for index in load.indices]
        bounds = [form.bounds(axis_range) for form in forms if form is not None]
        if len(bounds) != len(forms):
            return None
        known = rooms.get(load.tensor, tuple((0, size - 1) for size in load.tensor.shape))
        room = []
        for (low, high), (least, greatest) in zip(bounds, known, strict=True):
            first, last = _lesser(low, least), _lesser(-high, -greatest)
            if first is None or last is None:
                return None
            room.append((first, -last))
        rooms[load.tensor] = tuple(room)
    return {t: r for t, r in rooms.items() if r != tuple((0, size - 1) for size in t.shape)}


def _lesser(left: int, right: int) -> int | None:
    if surely_less(left, right + 1):
        return left
    return right if surely_less(right, left + 1) else None


def _padded(tensor: Tensor, room: Room) -> Tensor:
    """A tensor with zeros around it, so that all indices of a room exist."""

    def element(*axes: Scalar) -> Scalar:
        positions = [axis + low for axis, (low, _) in zip(axes, room, strict=True)]
        value: Scalar = tensor[tuple(positions)]
        outside = literal(0.0 if is_float(tensor.dtype) else 0, tensor.dtype)
        condition: Scalar | None = None
        for position, size in zip(positions, tensor.shape, strict=True):
            for side in (binary("ge", position, 0), binary("lt", position, size)):
                if decide(side) is not True:
                    condition = side if condition is None else binary("and", condition, side)
        return value if condition is None else select(condition, value, outside)

    return compute(f"{tensor.name}_padded", [high - low + 1 for low, high in room], element)
