"""Questions about expressions: which variables are free, which are bound."""

from dataclasses import replace

import pytest

from relay_tune.ir.expr import Function, If, Let, Match, Tuple, TupleGetItem, Var
from relay_tune.ir.parser.parse import parse_expr
from relay_tune.ir.structural import structural_equal
from relay_tune.ir.traversal import (
    bound_vars,
    children,
    free_vars,
    map_pattern_vars,
    post_order,
    rebuild,
)
from relay_tune.ir.types import TensorType


def names(variables: tuple[Var, ...]) -> list[str]:
    return [var.name for var in variables]


def test_free_variables_in_order_of_first_use() -> None:
    expr = parse_expr("free_var %b; free_var %a; let %x = (%a, %b); (%x, %a)")
    assert names(free_vars(expr)) == ["a", "b"]


def test_parameters_and_pattern_variables_are_bound() -> None:
    expr = parse_expr(
        "free_var %z; fn (%x: int32) { match ((%x, %z)) { (%u, %v) => (%u, %v, %x) } }"
    )
    assert names(free_vars(expr)) == ["z"]
    bound = [var.name for node in post_order(expr) for var in bound_vars(node)]
    assert sorted(bound) == ["u", "v", "x"]


def test_a_recursive_closure_is_not_free_in_its_let() -> None:
    expr = parse_expr("let %f = fn (%n: int32) { %f(%n) }; %f")
    assert free_vars(expr) == ()
    assert isinstance(expr, Let) and isinstance(expr.value, Function)
    assert names(free_vars(expr.value)) == ["f"]


def test_pattern_variables_are_replaced_left_to_right() -> None:
    expr = parse_expr("free_var %z; match (%z) { (%u, (_, %v)) => %u }")
    assert isinstance(expr, Match)
    seen: list[str] = []

    def change(var: Var) -> Var:
        seen.append(var.name)
        return Var(var.name * 2)

    assert map_pattern_vars(expr.clauses[0].pattern, change) is not expr.clauses[0].pattern
    assert seen == ["u", "v"]


def test_nodes_come_behind_their_children_and_in_their_order() -> None:
    x, y = Var("x"), Var("y")
    shared = Tuple((x, y))
    picked, unit = TupleGetItem(shared, 1), Tuple(())
    branch = If(x, shared, picked)
    root = Tuple((shared, branch, unit))
    assert list(post_order(root)) == [x, y, shared, picked, branch, unit, root]
    assert list(post_order(shared, enter=lambda node: node is not shared)) == [shared]


@pytest.mark.parametrize(
    "text",
    [
        "%x(%y)",
        "(%x, %y)",
        "%x.1",
        "fn (%z: int32) { %x }",
        "let %z = %x; %y",
        "if (%x) { %y } else { %x }",
        "ref(%x)",
        "ref_read(%x)",
        "ref_write(%x, %y)",
        "match (%x) { (%u, _) => %y }",
    ],
)
def test_a_node_is_rebuilt_of_other_children_and_keeps_the_rest(text: str) -> None:
    expr = replace(parse_expr(f"free_var %x; free_var %y; {text}"), type=TensorType((), "int32"))
    old = children(expr)
    assert rebuild(expr, list(old)) is expr
    new = [Var(f"new{n}") for n in range(len(old))]
    rebuilt = rebuild(expr, new)
    assert children(rebuilt) == tuple(new)
    assert (rebuilt.type, rebuilt.span) == (expr.type, expr.span) and expr.span is not None
    assert structural_equal(rebuild(rebuilt, old), expr, map_free_vars=True)
    with pytest.raises(ValueError, match="children, not"):
        rebuild(expr, [*new, *new])
