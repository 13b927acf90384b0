"""Questions about expressions: which variables are free, which are bound."""

from relay_tune.ir.expr import Function, Let, Match, Var
from relay_tune.ir.parser.parse import parse_expr
from relay_tune.ir.traversal import bound_vars, free_vars, map_pattern_vars, post_order


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
