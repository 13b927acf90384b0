"""Fuse operator calls into primitive functions, each of which becomes one kernel.

before: nn.relu(add(nn.conv2d(%x, W), b))
after:  fn (%p0, Primitive=1) { nn.relu(add(nn.conv2d(%p0, W), b)) }(%x)

Every operator call ends up in exactly one primitive function, but for conversions of stored
weights, of which each reader has its own. Constants stay inside, where the kernel's layout of them
can be chosen. Kernels that compute nothing are marked, so that memory can be planned without them
(`relay_tune.op.primitive_views`): views, which are taken off the borders of other kernels, and
concatenations along the outermost axis.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from relay_tune.arguments import whole_number
from relay_tune.ir.expr import Call, Constant, Expr, Function, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.op.primitive_views import RESHAPE_ONLY
from relay_tune.op_rules.fusion.table import fusion_rule
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.effects import module_has_effects
from relay_tune.transform.fusion.call_graph import (
    CallNode,
    argument_leaves,
    call_graph,
    is_operator_call,
)
from relay_tune.transform.fusion.kernel_type import kernel_type
from relay_tune.transform.fusion.own_conversions import with_own_conversions
from relay_tune.transform.fusion.partition import partition
from relay_tune.transform.fusion.views import separate_views
from relay_tune.transform.module_pass import map_scopes, same_scope


@dataclass(frozen=True)
class Fuse:
    """Partitions every function into kernels of at most `maximum_group_size` calls.

    Slices are views where memory is planned (`slice_views`); elsewhere they would be copies, so
    that kernels read their part of the whole instead.
    """

    name: ClassVar[str] = "fuse"
    maximum_group_size: int = 64
    slice_views: bool = True

    def __post_init__(self) -> None:
        whole_number(self.maximum_group_size, "maximum_group_size", 1)

    def __call__(self, module: Module) -> Module:
        """The module in which operators are called in primitive functions only."""
        in_order = module_has_effects(module)
        return map_scopes(module, lambda body: self._fuse(body, in_order=in_order))

    def _fuse(self, body: Expr, *, in_order: bool) -> Expr:
        body = with_own_conversions(body)
        nodes = call_graph(body)
        groups = partition(nodes, self.maximum_group_size)
        members: dict[CallNode, list[CallNode]] = {}
        for node in nodes:
            members.setdefault(groups.of(node).result, []).append(node)
        kernels = separate_views(members.values(), slices=self.slice_views)
        return _with_kernels(body, kernels, in_order=in_order)


def _with_kernels(body: Expr, kernels: Iterable[list[CallNode]], *, in_order: bool) -> Expr:
    by_result = {kernel[-1].call: [node.call for node in kernel] for kernel in kernels}
    done: dict[Expr, Expr] = {}
    for expr in post_order(body, enter=same_scope):
        if isinstance(expr, Call) and is_operator_call(expr):
            if expr in by_result:
                done[expr] = _kernel_call(by_result[expr], done, in_order=in_order)
        elif not same_scope(expr):
            done[expr] = expr
        elif all(child in done for child in children(expr)):
            done[expr] = rebuild(expr, [done[child] for child in children(expr)])
    return done[body]


def _kernel_call(calls: list[Call], done: dict[Expr, Expr], *, in_order: bool) -> Expr:
    """A call of a primitive function with the body `calls` (the last one is its result).

    Its parameters stand in the order of the calls or, if the program has effects, in that in which
    their arguments were evaluated.
    """
    result = calls[-1]
    inside = set(calls)
    leaves = dict.fromkeys(
        leaf
        for call in calls
        for leaf in argument_leaves(call)
        if leaf not in inside and not isinstance(leaf, Constant)
    )
    if in_order:
        evaluated = post_order(result, enter=lambda node: node not in leaves)
        leaves = dict.fromkeys(node for node in evaluated if node in leaves)
    params = {leaf: Var(f"p{n}", leaf.type, type=leaf.type) for n, leaf in enumerate(leaves)}
    function = Function(
        tuple(params.values()),
        _body_over(result, calls, params),
        result_type=result.type,
        attributes=_attributes(calls),
        type=kernel_type(params, result),
    )
    arguments = tuple(done[leaf] for leaf in params)
    return Call(function, arguments, type=result.type, span=result.span)


def _body_over(result: Call, calls: list[Call], params: dict[Expr, Var]) -> Expr:
    """The result's expression with parameters in place of what comes from outside."""
    local: dict[Expr, Expr] = dict(params)
    for expr in post_order(result, enter=lambda node: node not in params):
        if expr not in params:
            local[expr] = rebuild(expr, [local[child] for child in children(expr)])
    return local[result]


def _attributes(calls: list[Call]) -> dict[str, int]:
    """What marks a primitive, and one that computes nothing."""
    if len(calls) == 1:
        return {"Primitive": 1, **fusion_rule(calls[0]).primitive_attributes(calls[0])}
    if all(fusion_rule(call).keeps_order for call in calls):
        return {"Primitive": 1, RESHAPE_ONLY: 1}
    return {"Primitive": 1}
