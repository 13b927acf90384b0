"""Indices with divisions of an axis, and affine forms that grow as they do.

    x[r, w + k, (o // 4) * 4 + i]     is w * 8 + k * 8 + i, and 4 for each 4 of o

The channels of a group in a grouped convolution are read so, and those of a depthwise convolution
with several outputs for each channel.

    x[i, h // 2, w // 2, c]           is the offset of (i, h / 2, w / 2, c), but for steps

Results of tiles of an image whose size is no whole number of tiles read so.

    x[min(t, 255) // 16, min(t, 255) % 16]      is t, but for steps from row to row

So are the tiles of an image that are counted one after the other. Where these are of d phases,

    x[.., c // d * s + c % d]  of a column c     is c * (s / d), but for steps from phase to phase

    x[min(4 * t + k, 160)]                      is 4 * t + k, but at the end

So are the elements of windows that reach beyond an image.
"""

from __future__ import annotations

from dataclasses import replace

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import ZERO, Affine, axis_affine
from relay_tune.tensor.expression import INDEX, Binary, Literal, Scalar
from relay_tune.tensor.size import is_integer


@dataclass(frozen=True, slots=True)
class Repeated:
    """The index `plain + factor * (divided // divisor)`.

    Attributes:
        plain: the affine part.
        factor: how far apart neighbouring quotients read.
        divided: what is divided.
        divisor: by how much, greater than 0.
    """

    plain: Affine
    factor: int
    divided: Affine
    divisor: int

    @property
    def smooth(self) -> Affine:
        """An affine form that grows as the index does, at least by one where it moves."""
        step = max(self.factor // self.divisor, 1)
        return self.plain + self.divided.scale(step)


def repeated_form(index: Scalar) -> Repeated | None:
    """The form of an index that is affine but for one division, else None."""
    plain, divisions = _divisions(index)
    if len(divisions) != 1 or divisions[0].factor <= 0:
        return None
    return replace(divisions[0], plain=plain)


def stepped_form(index: Scalar) -> Affine | None:
    """An affine form that grows as an index with several divisions does, else None."""
    plain, divisions = _divisions(index)
    if len(divisions) < 2 or any(each.factor <= 0 for each in divisions):
        return None
    return sum((each.smooth for each in divisions), start=plain)


def _divisions(index: Scalar) -> tuple[Affine, list[Repeated]]:
    """The affine part of an index and its divisions by themselves; none of an index of more."""
    plain, found = ZERO, list[Repeated]()
    pending: list[tuple[Scalar, int]] = [(index, 1)]
    while pending:
        node, factor = pending.pop()
        form = axis_affine(node)
        if form is not None:
            plain = plain + form.scale(factor)
            continue
        match node:
            case Binary(operation="add" | "sub", dtype="int64", left=left, right=right):
                sign = 1 if node.operation == "add" else -1
                pending += ((left, factor), (right, sign * factor))
            case Binary(operation="mul", left=left, right=Literal(value=times)) if is_integer(
                times
            ):
                pending.append((left, factor * times))
            case Binary(operation="floordiv", left=left, right=Literal(value=divisor)) if (
                is_integer(divisor)
            ):
                divided = axis_affine(left)
                if divided is None or divisor <= 0 or node.dtype != INDEX:
                    return ZERO, []
                found.append(Repeated(ZERO, factor, divided, divisor))
            case _:
                return ZERO, []
    return plain, found


def counted_form(index: Scalar) -> Affine | None:
    """The form of an index within a row, where an axis counts the positions of several rows.

    What is counted may be under a minimum, which is left out, as if it changed nothing. None of an
    index without a count or a minimum.
    """
    form = _within_row(index)
    return form if form is not None and axis_affine(index) is None else None


def _within_row(index: Scalar) -> Affine | None:
    form = axis_affine(index)
    if form is not None:
        return form
    match index:
        case Binary(operation="add" | "sub", left=left, right=right):
            first, second = _within_row(left), _within_row(right)
            if first is None or second is None:
                return None
            return first + second.scale(1 if index.operation == "add" else -1)
        case Binary(
            operation="mul",
            left=Binary(operation="floordiv", left=Binary() as left, right=Literal(value=phases)),
            right=Literal(value=times),
        ) if is_integer(phases) and is_integer(times) and left.operation == "floormod":
            form = _within_row(left)
            return None if form is None or times % phases else form.scale(times // phases)
        case Binary(operation="mul", left=left, right=Literal(value=times)) if is_integer(times):
            form = _within_row(left)
            return None if form is None else form.scale(times)
        case Binary(operation="floordiv", left=left, right=Literal()):
            return None if _counted(left) is None else ZERO
        case Binary(operation="floormod", left=Binary(operation="floormod") as left):
            return None if _within_row(left) is None else ZERO
        case Binary(operation="floormod", left=left, right=Literal()):
            return _counted(left)
        case Binary(operation="min", left=left, right=Literal()):
            return _within_row(left)
    return None


def _counted(index: Scalar) -> Affine | None:
    match index:
        case Binary(operation="min", left=left, right=Literal()):
            return axis_affine(left)
        case Binary(operation="floordiv", left=left, right=Literal()):
            return None if _counted(left) is None else ZERO
    return None
