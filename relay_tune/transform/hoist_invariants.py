"""Compute before a recursion what none of its steps changes.

before:
    let %write = fn (%h, %n) {
      if (%n == 0) { %h } else { %write(nn.dense(concatenate((%c, %h), axis=1), W), %n - 1) }
    };
    %write(%first, 20)

after:
    let %invariant = nn.dense(%c, W[:, 0:18]);
    let %write = fn (%h, %n) {
      if (%n == 0) { %h } else { %write(nn.dense(%h, W[:, 18:]) + %invariant, %n - 1) }
    };
    %write(%first, 20)

A product of a concatenation with parts that do not change is divided for that. What a step computes
moves; what only other branches need, such as the last step, stays, and so do calls that can fail,
those whose results are larger than what they read, and conversions of stored weights. It is
loop-invariant code motion, or the full laziness of S. Peyton Jones and D. Lester, "A modular
fully-lazy lambda lifter in Haskell" (Software: Practice and Experience, 1991), for functions that
call themselves.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import ClassVar

from relay_tune.ir.expr import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.expression_scopes import ExpressionScope
from relay_tune.ir.module import Module
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.traversal import children, free_vars, post_order, rewrite, rewrite_with_original
from relay_tune.op_rules.fold.stored import is_stored
from relay_tune.op_rules.indices.uses import can_fail
from relay_tune.op_rules.matching import static_shape
from relay_tune.op_rules.simplify.nn.lookups import divided_product
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.branches.activation import branch_plan
from relay_tune.transform.module_pass import map_scopes, same_scope, with_body

_WORK = (FusionKind.REDUCTION, FusionKind.OUTPUT_FUSABLE)
"""Calls that are worth more than to read their results."""


@dataclass(frozen=True)
class HoistInvariants:
    """Moves pure values out of local functions that call themselves."""

    name: ClassVar[str] = "hoist_invariants"

    def __call__(self, module: Module) -> Module:
        """The module in which steps of recursions compute what changes."""
        return map_scopes(module, _hoisted)


def _hoisted(body: Expr) -> Expr:
    """A body in whose recursive functions, all inner ones being done, nothing is invariant."""

    def visit(node: Expr) -> Expr:
        if not isinstance(node, Let) or not _is_recursive(node):
            return node
        assert isinstance(node.value, Function)
        divided = with_body(node.value, _with_divided_products(node.value, node.var))
        bindings, function = _separated(divided, node.var)
        if not bindings:
            return node
        result = replace(node, value=function)
        for var, value in reversed(bindings.items()):
            result = Let(var, value, result, type=result.type, span=node.span)
        return result

    return rewrite(body, visit, enter=same_scope)


def _is_recursive(let: Let) -> bool:
    value = let.value
    return isinstance(value, Function) and not value.is_primitive and let.var in free_vars(value)


def _with_divided_products(function: Function, name: Var) -> Expr:
    """The body in which products of concatenations have their invariant parts apart."""
    invariants = _Invariants(function, name)

    def visit(original: Expr, node: Expr) -> Expr:
        if original not in invariants.steps or original in invariants.found:
            return node
        if not isinstance(node, Call):
            return node
        return divided_product(node, invariants.found.__contains__, lambda part: part.layer) or node

    return rewrite_with_original(function.body, visit, enter=same_scope)


def _separated(function: Function, name: Var) -> tuple[dict[Var, Expr], Function]:
    """What is bound before the function, outer values first, and the function that uses it."""
    invariants = _Invariants(function, name)
    moved = {node: Var("invariant", type=node.type) for node in invariants.roots()}
    lets = {let.var: let.value for let in invariants.lets}
    if not moved and not lets:
        return {}, function

    def visit(original: Expr, node: Expr) -> Expr:
        if isinstance(original, Let) and isinstance(node, Let) and original.var in lets:
            return node.body
        return moved.get(original, node)

    bindings = {**lets, **{var: value for value, var in moved.items()}}
    body = rewrite_with_original(function.body, visit, enter=same_scope)
    return bindings, with_body(function, body)


class _Invariants:
    """The nodes of a recursive function's activation whose values all activations share.

    Attributes:
        nodes: all nodes, arguments first.
        steps: those that are evaluated whenever the function calls itself.
        found: the invariant ones.
        lets: the bindings of invariant calls in steps, outer ones first: they can move as they are.
    """

    def __init__(self, function: Function, name: Var) -> None:
        self.nodes = list(post_order(function.body, enter=same_scope))
        self.steps = _step_nodes(function.body, name)
        self.found: set[Expr] = set()
        self._outer = set(free_vars(function)) - {name}
        self._bound = {node.var: node for node in self.nodes if isinstance(node, Let)}
        for node in self.nodes:
            if self._is_invariant(node):
                self.found.add(node)
        self.lets = [let for let in reversed(self._bound.values()) if self._moves(let)]

    def roots(self) -> dict[Expr, None]:
        """The calls in steps that others read, and that are worth a binding."""
        readers = [node for node in self.nodes if node not in self.found and same_scope(node)]
        bound = {let.value for let in self.lets}
        return dict.fromkeys(
            child
            for node in readers
            for child in children(node)
            if child in self.found and child in self.steps and child not in bound
            if _is_worth_a_binding(child)
        )

    def _is_invariant(self, node: Expr) -> bool:
        match node:
            case Var() if node in self._bound:
                return self._moves(self._bound[node])
            case Var():
                return node in self._outer
            case Constant():
                return True
            case Tuple() | TupleGetItem():
                return all(child in self.found for child in children(node))
            case Call(callee=Operator() as operator):
                is_pure = not operator.stateful and not can_fail(node) and _is_static(node)
                return is_pure and all(each in self.found for each in node.arguments)
            case _:
                return False

    def _moves(self, let: Let) -> bool:
        is_call = isinstance(let.value, Call) and let.var.annotation in (None, let.value.type)
        return is_call and let.value in self.found and let in self.steps


def _is_static(node: Call) -> bool:
    """Whether no size is left to the run, which would have to check it."""
    each = (node, *node.arguments)
    return all(isinstance(one, Tuple) or static_shape(one) is not None for one in each)


def _step_nodes(body: Expr, name: Var) -> set[Expr]:
    """The nodes that are evaluated whenever the function calls itself."""
    plan = branch_plan(body)
    steps: set[ExpressionScope] = set()
    for node in post_order(body, enter=same_scope):
        used = free_vars(node) if isinstance(node, Function) else children(node)
        for index, child in enumerate(used):
            if child is not name:
                continue
            scope: ExpressionScope | None = plan.scope_of_use(node, index)
            while scope is not None:
                steps.add(scope)
                scope = scope.parent
    return {node for node, home in plan.homes.items() if home in steps}


def _is_worth_a_binding(root: Expr) -> bool:
    """Whether to read a value costs no more than to compute it again."""
    if not isinstance(root, Call) or is_stored(root):
        return False
    calls = [node for node in post_order(root, enter=same_scope) if isinstance(node, Call)]
    if any(isinstance(node.callee, Operator) and node.callee.kind in _WORK for node in calls):
        return True
    leaves = {leaf for node in calls for leaf in children(node) if not isinstance(leaf, Call)}
    return _elements(root) <= sum(_elements(leaf) for leaf in leaves)


def _elements(node: Expr) -> int:
    shape = static_shape(node)
    return 0 if shape is None else prod(shape)
