"""A nest with the example's sizes in place of open ones, as estimates and searches see it."""

from __future__ import annotations

from dataclasses import replace

from relay_tune.remembered import remembered
from relay_tune.schedule.nests.nest import Nest, with_roots
from relay_tune.schedule.nests.open_ends import without_ends
from relay_tune.tensor.expression import Axis, Literal, Load, Scalar, Tensor, literal
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.size import is_symbolic, nominal
from relay_tune.tensor.walk import axes_of, transform

REMEMBERED = 256


@remembered(REMEMBERED)
def nominal_nest(nest: Nest) -> Nest:
    """The nest for the example's sizes; itself if no size is open.

    Axes and loads correspond by position, so a choice for one is a choice for the other.
    """
    nest = replace(nest, result=without_ends(nest)[0])  # tests of the last tiles alone
    found = dict.fromkeys((*nest.axes, *nest.reduction, *axes_of(*nest.roots)))
    opened = [axis for axis in found if is_symbolic(axis.extent)]
    # What is left of a period may be nothing in the example, but is something for other sizes.
    fixed = {axis: Axis(axis.name, max(1, nominal(axis.extent))) for axis in opened}
    views: dict[Tensor, Tensor] = {}

    def of_tensor(tensor: Tensor) -> Tensor:
        if not any(is_symbolic(extent) for extent in tensor.shape):
            return tensor
        if tensor not in views:
            views[tensor] = _nominal_view(tensor)
        return views[tensor]

    def visit(node: Scalar) -> Scalar:
        match node:
            case Axis():
                return fixed.get(node, node)
            case Literal(value=value) if is_symbolic(value):
                return literal(nominal(value), node.dtype)
            case Load():
                return Load(of_tensor(node.tensor), node.indices, dtype=node.dtype)
        return node

    roots = [transform(root, visit) for root in nest.roots]
    target = of_tensor(nest.target)
    if not fixed and not views:
        return nest
    axes = [fixed.get(axis, axis) for axis in nest.axes]
    reduction = [fixed.get(axis, axis) for axis in nest.reduction]
    return replace(with_roots(nest, roots, axes, reduction), target=target)


def _nominal_view(tensor: Tensor) -> Tensor:
    shape = tuple(nominal(extent) for extent in tensor.shape)
    viewed = tensor.viewed if isinstance(tensor, FlatView) else tensor
    return FlatView(name=tensor.name, shape=shape, dtype=tensor.dtype, viewed=viewed)
