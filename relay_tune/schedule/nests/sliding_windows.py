"""Along which axes of a nest a window slides, so that neighbours read some of the same elements."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.size import is_multiple, surely_less
from relay_tune.tensor.walk import loads


def slides(form: Affine, axis: Axis, reduction: Sequence[Axis]) -> bool:
    """Whether neighbours on an axis read some of the same elements, under a sliding window.

    They do not where open sizes leave that open: caches have room for more rows than they hold.
    """
    for step in reduction:
        apart, within = form.coefficient(axis), form.coefficient(step)
        if not within or not is_multiple(apart, within):
            continue
        steps = apart // within
        if surely_less(0, steps) and surely_less(steps, step.extent):
            return True
    return False


def sliding_axes(nest: Nest) -> frozenset[Axis]:
    """The axes of a nest along which a window of its reduction slides over something it loads."""
    loaded = [load for root in nest.roots for load in loads(root) if load.indices]
    forms = [axis_affine(load.indices[0]) for load in loaded]
    return frozenset(
        axis
        for axis in nest.axes
        if any(form is not None and slides(form, axis, nest.reduction) for form in forms)
    )
