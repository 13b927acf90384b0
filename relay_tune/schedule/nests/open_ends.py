"""Selects by positions below an open end, which all tiles of a nest pass but its last ones.

    groups[b, k, c] = select(b * 16 + c < n, w[k, b * 16 + c], 0)

Steps and columns behind the last ones of a product on matrix registers are zeros, say.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.remembered import remembered
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Binary, Literal, Load, Scalar, Select
from relay_tune.tensor.size import is_symbolic, surely_less
from relay_tune.tensor.walk import loads, replace_nodes, sub_expressions


@remembered(1024)
def without_ends(nest: Nest) -> tuple[Scalar, Sequence[Scalar]]:
    """What an elementwise nest stores where it is below all open ends, and the conditions of that.

    Without conditions, the result as it is.
    """
    found, conditions = nest.result, list[Scalar]()
    while nest.body is None:
        select = next(filter(_is_test, sub_expressions(found)), None)
        if not isinstance(select, Select):
            break
        conditions.append(select.condition)
        found = replace_nodes(found, {select: select.if_true})
    return found, tuple(conditions)


def ends_of(nest: Nest, load: Load) -> dict[Axis, int]:
    """Axes that end earlier where a load is reached, and where: it stands behind tests alone."""
    whole, conditions = without_ends(nest)
    if not conditions or load in loads(_beyond(nest.result)):
        return {}
    found: dict[Axis, int] = {}
    for condition in conditions:
        match condition:
            case Binary(left=Axis() as axis, right=Literal(value=end)) if is_symbolic(end):
                found[axis] = end
    return found


def _beyond(result: Scalar) -> Scalar:
    """What is stored behind all open ends."""
    tests: dict[Scalar, Scalar] = {
        node: node.if_false
        for node in sub_expressions(result)
        if isinstance(node, Select) and _is_test(node)
    }
    return replace_nodes(result, tests)


def _is_test(node: Scalar) -> bool:
    if not isinstance(node, Select) or not isinstance(node.if_false, Literal):
        return False
    condition = node.condition
    if not isinstance(condition, Binary) or condition.operation != "lt":
        return False
    end = condition.right
    if not isinstance(end, Literal) or not is_symbolic(end.value):
        return False
    index = axis_affine(condition.left)
    return index is not None and all(surely_less(0, factor) for factor in index.terms.values())
