"""Axes in parts, so that indices are without the divisions which a reshape leaves.

before:  x[i // 4, i % 4]            i < 12
after:   x[io, ii]                   io < 3, ii < 4
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.tensor.expression import Axis, Scalar
from relay_tune.tensor.index import divided_axis, simplify


def split_divisions(
    axes: Sequence[Axis], roots: Sequence[Scalar]
) -> tuple[dict[Axis, tuple[Axis, ...]], list[Scalar]]:
    """Split axes until no division of an index is left that splitting can remove.

    Gives what each axis became, outermost part first, and the new expressions.
    """
    parts: dict[Axis, tuple[Axis, ...]] = {axis: (axis,) for axis in axes}
    roots = list(roots)
    for _ in range(32):
        found = next((f for root in roots if (f := divided_axis(root)) is not None), None)
        if found is None:
            break
        axis, inner_extent = found
        outer = Axis(f"{axis.name}o", axis.extent // inner_extent)
        inner = Axis(f"{axis.name}i", inner_extent)
        parts = {
            original: tuple(
                part for old in now for part in ((outer, inner) if old is axis else (old,))
            )
            for original, now in parts.items()
        }
        split = {axis: outer * inner_extent + inner}
        roots = [simplify(root, split) for root in roots]
    return parts, roots
