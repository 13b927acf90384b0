"""Indices of elements that several neighbours share: one division of an axis in an affine sum.

    x[r, w + k, (o // 4) * 4 + i]     is w * 8 + k * 8 + i, and 4 for each 4 of o

The channels of a group in a grouped convolution are read so, and those of a depthwise convolution
with several outputs for each channel.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.tensor.affine import ZERO, Affine, axis_affine
from relay_tune.tensor.expression import INDEX, Binary, Literal, Scalar


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
    plain, found = ZERO, None
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
            case Binary(operation="mul", left=left, right=Literal(value=int(times))):
                pending.append((left, factor * times))
            case Binary(operation="floordiv", left=left, right=Literal(value=int(divisor))):
                divided = axis_affine(left)
                if found is not None or divided is None or divisor <= 0 or node.dtype != INDEX:
                    return None
                found = (factor, divided, divisor)
            case _:
                return None
    return None if found is None or found[0] <= 0 else Repeated(plain, *found)
