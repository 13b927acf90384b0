"""Neighbouring axes as one although some operands are read along the outer one only.

    before:  y[g * 4 + r] = sum(i) x[g * 4 + i] * w[i, g * 4 + r]          g < 32, r < 4
    after:   y[o] = sum(i) x[o // 4 * 4 + i] * w[i, o]                     o < 128

A grouped convolution with few channels in a group is of this kind. No axis of the first form fills
a vector; along o of the second, whole vectors are stored, and elements of x are repeated in lanes.
"""

from __future__ import annotations

from relay_tune.schedule.nests.nest import Nest, with_roots
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Load, Scalar, index_value
from relay_tune.tensor.size import is_symbolic, surely_less
from relay_tune.tensor.walk import axes_of, loads, replace_nodes, substitute

MOST_REPEATED = 8
"""An inner axis that is longer fills a vector by itself."""


def fuse_repeated(nest: Nest) -> Nest:
    """The nest with its last two axes as one, if the inner one is short and some loads ignore it.

    What is stored must lie along both, and all loads must use both as one, the outer one alone, or
    neither. What they read along the outer one alone must lie in as few vectors: elements of an
    image with channels first would be gathered one by one (128 channels of 56x56 in groups of 4,
    written channels last, took 2200 us so, and 196 with neighbours in a row along the lanes).
    """
    if nest.body is None or len(nest.axes) < 2:
        return nest
    outer, inner = nest.axes[-2:]
    if inner.extent not in (2, 4, MOST_REPEATED) or is_symbolic(outer.extent):
        return nest
    fused = Axis(f"{outer.name}{inner.name}"[:12], outer.extent * inner.extent)
    as_one: dict[Axis, Scalar] = {outer: index_value(0), inner: fused}
    repeated: dict[Axis, Scalar] = {outer: fused // inner.extent}
    replaced: dict[Scalar, Scalar] = {}
    for root in nest.roots[:-1]:
        for load in loads(root):
            if _is_as_one(load, outer, inner):
                replaced[load] = substitute(load, as_one)
            elif inner not in axes_of(load) and _lies_in_vectors(load, outer, inner):
                replaced[load] = substitute(load, repeated)
            else:
                return nest
    form = axis_affine(nest.index)
    if form is None or (form.coefficient(outer), form.coefficient(inner)) != (inner.extent, 1):
        return nest
    if not any(outer in axes_of(load) and inner not in axes_of(load) for load in loads(nest.body)):
        return nest
    values = [replace_nodes(root, replaced) for root in nest.roots[:-1]]
    if any({outer, inner} & set(axes_of(value)) for value in values):
        return nest
    roots = [*values, substitute(nest.index, as_one)]
    return with_roots(nest, roots, (*nest.axes[:-2], fused), nest.reduction)


def _is_as_one(load: Load, outer: Axis, inner: Axis) -> bool:
    """Whether a load's index moves along two axes as along one."""
    forms = [axis_affine(index) for index in load.indices]
    return all(
        form is not None and form.coefficient(outer) == form.coefficient(inner) * inner.extent
        for form in forms
    )


def _lies_in_vectors(load: Load, outer: Axis, inner: Axis) -> bool:
    """Whether the elements that a load reads along the outer axis fit between those stored."""
    forms = [axis_affine(index) for index in load.indices]
    return all(
        form is None or surely_less(form.coefficient(outer), inner.extent + 1) for form in forms
    )
