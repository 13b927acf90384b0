"""Chains of products with one weight: recurrences whose steps are written out.

    %h1 = tanh(%x1 + nn.dense(%h0, %w)); %h2 = tanh(%x2 + nn.dense(%h1, %w)); ..

Each product needs the one before. What needs the first t products and no more has level t.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.traversal import children
from relay_tune.op_rules.fold.layers import layer_of_argument
from relay_tune.op_rules.matching import static_shape
from relay_tune.op_rules.segments import is_kept_apart
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import same_scope

LEAST_STEPS = 4
"""Shorter chains are no recurrences."""


@dataclass(frozen=True, eq=False)
class Recurrence:
    """A chain of products with one weight.

    Attributes:
        products: in order; their first arguments are rows, their second one is the weight.
        levels: of all nodes, how many of the products they need; a product needs itself.
        segments: how many segments the steps are divided into.
    """

    products: tuple[Call, ...]
    levels: Mapping[Expr, int]
    segments: int

    @property
    def weight(self) -> Expr:
        """What each product multiplies by."""
        return self.products[0].arguments[1]

    def segment_of(self, level: int) -> int:
        """The segment that values of a level belong to."""
        return segment_of(max(level - 1, 0), len(self.products), self.segments)

    def levels_of(self, segment: int) -> range:
        """The levels of a segment's steps."""
        last = len(self.products)
        levels = [n for n in range(1, last + 1) if self.segment_of(n) == segment]
        return range(levels[0], levels[-1] + 1)


def segment_of(number: int, count: int, segments: int) -> int:
    """Which of `segments` parts of `count` things one is in: equal ones, the rest in the last."""
    return min(number // max(count // segments, 1), segments - 1)


def recurrences(nodes: Sequence[Expr], segments: int) -> list[Recurrence]:
    """The recurrences among nodes, operands of which come first; of each weight the first one."""
    found: dict[Expr, Recurrence] = {}
    for products in _by_weight(nodes).values():
        weight = products[0].arguments[1]
        if len(products) < LEAST_STEPS or weight in found:
            continue
        levels = _levels(nodes, frozenset(products))
        if [levels[each] for each in products] == list(range(1, len(products) + 1)):
            found[weight] = Recurrence(tuple(products), levels, segments)
    return list(found.values())


def _by_weight(nodes: Sequence[Expr]) -> dict[Hashable, list[Call]]:
    """Products of rows of one shape with one weight."""
    found: dict[Hashable, list[Call]] = {}
    for node in nodes:
        layer = layer_of_argument(node)
        if layer is None or len(static_shape(layer.layer) or ()) != 2:
            continue
        rows, weight = layer.layer.arguments
        key = weight, layer.output_axis, static_shape(rows)
        if static_shape(rows) is not None and len(static_shape(weight) or ()) == 2:
            found.setdefault(key, []).append(layer.layer)
    return found


def _levels(nodes: Sequence[Expr], products: frozenset[Expr]) -> dict[Expr, int]:
    levels: dict[Expr, int] = {}
    for node in nodes:
        below = children(node) if same_scope(node) else ()
        below = below[:2] if is_kept_apart(node) else below  # the others are waited for alone
        levels[node] = max((levels[each] for each in below), default=0) + (node in products)
    return levels
