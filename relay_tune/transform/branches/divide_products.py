"""Compute the part of a product that only a branch needs in that branch.

before:
    %0 = nn.dense(%x, W);                                             W of 400 rows
    %1 = strided_slice(%0, begin=[0], end=[300], axes=[1]);
    if (%c) { %1 } else { add(%1, strided_slice(%0, begin=[300], end=[400], axes=[1])) }

after:
    %0 = nn.dense(%x, W[0:300]);
    if (%c) { %0 } else { add(%0, nn.dense(%x, W[300:400])) }

A bias and other elementwise operations between the product and its slices are divided with it. In
the gates of recurrent networks one product stands for several, not all of which each case needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import ClassVar

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.ir.expression_scopes import ExpressionScope, ScopePlan
from relay_tune.ir.module import Module
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.traversal import children, post_order, rewrite_with_original
from relay_tune.op_rules.columns import PRODUCTS, taken_columns
from relay_tune.op_rules.matching import static_shape
from relay_tune.op_rules.typed import call, constant_of, recall
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.branches.activation import branch_plan, has_branches
from relay_tune.transform.module_pass import map_scopes, same_scope

SMALLEST_PART = 1 << 14
"""Multiplications of a part; a smaller one takes no longer than to call its kernel."""


@dataclass(frozen=True)
class DivideProducts:
    """Divides products with constant weights whose parts belong to different branches."""

    name: ClassVar[str] = "divide_products"

    def __call__(self, module: Module) -> Module:
        """The module in which products are computed where their parts are used."""
        return map_scopes(module, _divided)


def _divided(body: Expr) -> Expr:
    if not has_branches(body):
        return body
    users = _users(body)
    plan = branch_plan(body)
    parts: dict[Expr, _Part] = {}
    for node in users:
        parts.update(_parts(node, users, plan))
    if not parts:
        return body
    computed: dict[tuple[Expr, int, int], Expr] = {}

    def visit(original: Expr, node: Expr) -> Expr:
        part = parts.get(original)
        if part is None or not isinstance(node, Call):
            return node
        key = (part.whole, part.begin, part.end)
        if key not in computed:
            computed[key] = _columns(node.arguments[0], part.begin, part.end)
        return part.slice_of(node, computed[key])

    return rewrite_with_original(body, visit, enter=same_scope)


@dataclass(frozen=True, slots=True)
class _Part:
    """What a slice takes of a product: columns of the range that its branch computes."""

    whole: Expr
    begin: int
    end: int
    first: int
    last: int

    def slice_of(self, node: Call, computed: Expr) -> Expr:
        """The slice of the part that is computed; that itself if it is all of it."""
        if (self.first, self.last) == (self.begin, self.end):
            return computed
        axis = len(static_shape(node) or ()) - 1
        begin, end = (self.first - self.begin,), (self.last - self.begin,)
        return call("strided_slice", computed, begin=begin, end=end, axes=(axis,))


def _users(body: Expr) -> dict[Expr, list[Expr]]:
    users: dict[Expr, list[Expr]] = {}
    for node in post_order(body, enter=same_scope):
        for child in children(node) if same_scope(node) else ():
            users.setdefault(child, []).append(node)
    return users


def _parts(
    whole: Expr, users: dict[Expr, list[Expr]], plan: ScopePlan
) -> Iterator[tuple[Expr, _Part]]:
    """The part of each slice of a product; nothing if it is to stay one."""
    chain = _chain(whole, users)
    columns = [taken_columns(user) for user in users[whole]]
    if chain is None or not all(columns):
        return
    slices = dict(zip(users[whole], [taken for taken in columns if taken is not None], strict=True))
    ranges: dict[ExpressionScope, range] = {}
    for node, taken in slices.items():
        known = ranges.setdefault(plan.homes[node], taken)
        first, last = min(known.start, taken.start), max(known.stop, taken.stop)
        ranges[plan.homes[node]] = range(first, last)
    if len(ranges) < 2 or not _are_worth_it(list(ranges.values()), chain[0]):
        return
    for node, taken in slices.items():
        part = ranges[plan.homes[node]]
        yield node, _Part(whole, part.start, part.stop, taken.start, taken.stop)


def _are_worth_it(ranges: Sequence[range], product: Call) -> bool:
    """Whether no column is in two parts, and each part is some work."""
    ordered = sorted(ranges, key=lambda part: part.start)
    overlap = any(a.stop > b.start for a, b in zip(ordered, ordered[1:], strict=False))
    each = prod(static_shape(product.arguments[0]) or (0,))
    return not overlap and all(len(part) * each >= SMALLEST_PART for part in ranges)


def _chain(node: Expr, users: dict[Expr, list[Expr]]) -> list[Call] | None:
    """The product below a node and the elementwise calls up to it, each used by the next alone."""
    chain: list[Call] = []
    while isinstance(node, Call) and static_shape(node):
        chain.append(node)
        product = PRODUCTS.rule_of(node)
        if product is not None:
            return chain[::-1] if product.is_divisible(node) else None
        others = [argument for argument in node.arguments if not isinstance(argument, Constant)]
        if not _is_elementwise(node) or len(others) != 1 or len(users[others[0]]) != 1:
            return None
        if static_shape(others[0]) != static_shape(node):
            return None
        node = others[0]
    return None


def _is_elementwise(node: Call) -> bool:
    return isinstance(node.callee, Operator) and node.callee.kind <= FusionKind.BROADCAST


def _columns(whole: Expr, begin: int, end: int) -> Expr:
    """The product, and what follows it, with these columns alone."""
    calls: list[Call] = []
    node = whole
    while isinstance(node, Call) and (product := PRODUCTS.rule_of(node)) is None:
        calls.append(node)
        node = next(a for a in node.arguments if not isinstance(a, Constant))
    assert isinstance(node, Call) and product is not None  # `_chain` found it
    result: Expr = product.columns(node, begin, end)
    width = (static_shape(whole) or (0,))[-1]
    for call_ in reversed(calls):
        arguments = [
            _constant_columns(argument, width, begin, end)
            if isinstance(argument, Constant)
            else result
            for argument in call_.arguments
        ]
        result = recall(call_, arguments)
    return result


def _constant_columns(constant: Constant, width: int, begin: int, end: int) -> Constant:
    """The columns of a constant that is broadcast; itself if all columns share it."""
    data = constant.data
    is_wide = data.ndim > 0 and data.shape[-1] == width
    return constant_of(data[..., begin:end]) if is_wide else constant
