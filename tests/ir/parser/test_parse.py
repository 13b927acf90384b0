import textwrap

import numpy as np
import pytest

from relay_tune.errors import ParseError, Span
from relay_tune.ir import operator
from relay_tune.ir.expr import Call, Constructor, Expr, Function, If, Let, Match, Tuple, Var
from relay_tune.ir.parser.parse import parse, parse_expr
from relay_tune.ir.printer.astext import VERSION_LINE, astext
from relay_tune.ir.structural import structural_equal
from relay_tune.ir.traversal import use_counts
from relay_tune.ir.types import TensorType, TypeVar
from tests.properties.toy_operators import ADD, POOL, ToyAttributes

FREE = "free_var %x; free_var %y; free_var %z; "


def printed(expr: Expr) -> str:
    return astext(expr).removeprefix(VERSION_LINE)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("%x + %y * %z", "add(%x, multiply(%y, %z))"),
        ("(%x + %y) * %z", "multiply(add(%x, %y), %z)"),
        ("%x - %y - %z", "subtract(subtract(%x, %y), %z)"),
        ("%x < %y == %z", "equal(less(%x, %y), %z)"),
        ("%x -1", "subtract(%x, 1)"),
        ("--1", "1"),
        ("---1i8", "-1i8"),
        ("-%x", "negative(%x)"),
        ("-%x.0 / 2f", "divide(negative(%x.0), 2f)"),
        ("%x.0.1", "{ %x.0 }.1"),
        ("%x; %y", "let %q = %x; %y"),
        ("{ %x }", "%x"),
        ("((%x))", "%x"),
        ("%0 = add(%x, %y); %0", "add(%x, %y)"),
        ("%x(%y)(%z)", "{ %x(%y) }(%z)"),
        ("if (%x) {%y} else if (%y) {%z} else {%x}", "if (%x) {%y} else {if (%y) {%z} else {%x}}"),
        ("let %q = match (%x) { _ => %y }; %q", "let %q = (match (%x) { _ => { %y }, }); %q"),
    ],
)
@pytest.mark.usefixtures("infix_operators")
def test_ways_to_write_the_same(text: str, same: str) -> None:
    left, right = parse_expr(FREE + text), parse_expr(FREE + same)
    assert structural_equal(left, right, map_free_vars=True)


def test_infix_needs_the_operator_to_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(operator._TABLE, "add", raising=False)
    with pytest.raises(ParseError, match="means the operator add"):
        parse_expr("1 + 2")


def test_a_graph_variable_is_one_shared_node() -> None:
    expr = parse_expr("free_var %x; %0 = test.negate(%x); test.add(%0, %0)")
    assert isinstance(expr, Call)
    assert expr.arguments[0] is expr.arguments[1]
    assert use_counts(expr)[expr.arguments[0]] == 2


def test_a_function_may_call_itself_but_other_values_see_the_outer_variable() -> None:
    recursive = parse_expr("let %f = fn (%x) { %f(%x) }; %f")
    assert isinstance(recursive, Let)
    assert isinstance(recursive.value, Function)
    assert isinstance(recursive.value.body, Call)
    assert recursive.value.body.callee is recursive.var
    shadowing = parse_expr("free_var %x; let %x = test.negate(%x); %x")
    assert isinstance(shadowing, Let)
    assert isinstance(shadowing.value, Call)
    assert shadowing.value.arguments[0] is not shadowing.var
    assert shadowing.body is shadowing.var


def test_names_end_with_their_block() -> None:
    with pytest.raises(ParseError, match="no variable %a"):
        parse_expr("({ let %a = 1; %a }, %a)")
    with pytest.raises(ParseError, match="no graph variable %0"):
        parse_expr("({ %0 = 1; %0 }, %0)")


def test_attributes_are_fitted_to_the_operator() -> None:
    call = parse_expr('free_var %x; test.pool(%x, axis=-2 epsilon=1, pads=[1, 2], name="a",)')
    assert isinstance(call, Call)
    assert call.attributes == ToyAttributes(-2, 1.0, (1, 2), "a")
    assert structural_equal(POOL, call.callee)


def test_definitions_may_be_used_before_they_are_given() -> None:
    module = parse(
        """
        def @main(%x: Even) -> Even { @next(%x) }
        def @next(%x: Even) { match (%x) { E(%o) => E(%o), None0 => None0 } }
        type Even { E(Odd), None0 }
        extern type Storage
        type Odd { O(Even) }
        extern type File {}
        """
    )
    assert list(module.functions) == ["main", "next"]
    assert list(module.types) == ["Even", "Storage", "Odd", "File"]
    assert [data.extern for data in module.types.values()] == [False, True, False, True]
    match = module["next"].body
    assert isinstance(match, Match)
    body = match.clauses[0].body
    assert isinstance(body, Call)
    assert body.callee is module.types["Even"].constructors[0]


def test_a_constructor_without_inputs_is_applied_unless_it_is_asked_for_itself() -> None:
    base = parse("type Unit { Only, Other(Unit) }")
    assert isinstance(parse_expr("Only", base=base), Call)
    assert isinstance(parse_expr("Only()", base=base), Call)
    assert isinstance(parse_expr("constructor(Only)", base=base), Constructor)
    assert isinstance(parse_expr("Other", base=base), Constructor)


def test_a_module_may_build_on_another() -> None:
    base = parse("type Unit { Only } def @f() { Only }", "base.relay")
    module = parse("def @main() -> Unit { @f() }", "main.relay", base)
    assert set(module.functions) == {"f", "main"}
    assert set(module.sources) == {"base.relay", "main.relay"}


def test_type_parameters_are_the_same_object_everywhere_in_their_function() -> None:
    function = parse_expr("fn [A](%x: A) -> A { let %y: A = %x; %y }")
    assert isinstance(function, Function)
    (variable,) = function.type_params
    assert isinstance(variable, TypeVar)
    assert function.params[0].annotation is function.result_type is variable


def test_round_brackets_group_types_and_a_comma_makes_a_tuple() -> None:
    one, same, tuple_ = (parse_expr(f"free_var %x: {t}; %x") for t in ("int8", "(int8)", "(int8,)"))
    assert isinstance(one, Var) and isinstance(same, Var) and isinstance(tuple_, Var)
    assert one.annotation == same.annotation == TensorType((), "int8")
    assert tuple_.annotation != one.annotation


def test_everything_has_a_span() -> None:
    expr = parse_expr("if (True) {\n  (1, 2).0\n} else { 3 }", "f.relay")
    assert isinstance(expr, If)
    assert expr.span == Span("f.relay", 1, 1, 3, 13)
    assert expr.true_branch.span == Span("f.relay", 2, 3, 2, 11)


def test_metadata_constants_are_shared_by_index() -> None:
    meta = "meta[relay.Constant][0]"
    expr = parse_expr(
        f"({meta}, {meta})\n#[metadata]\n"
        '{"relay.Constant": [{"dtype": "int8", "shape": [2], "data": "AQI="}]}'
    )
    assert isinstance(expr, Tuple)
    first, second = expr.fields
    assert first is second
    np.testing.assert_array_equal(first.data, np.array([1, 2], np.int8))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "1" + ")" * 5_000,
        "{" * 5_000 + "1" + "}" * 5_000,
        "free_var %x; " + "test.negate(" * 5_000 + "%x" + ")" * 5_000,
        "if (True) {" * 5_000 + "1" + "} else {2}" * 5_000,
        "fn () {" * 5_000 + "1" + "}" * 5_000,
    ],
    ids=["brackets", "blocks", "calls", "branches", "functions"],
)
def test_expressions_may_nest_to_any_depth(text: str) -> None:
    expr = parse_expr(text)
    assert structural_equal(parse_expr(astext(expr)), expr, map_free_vars=True)


@pytest.mark.parametrize(
    "text",
    [
        "free_var %x: " + "(" * 5000 + "int8" + ")" * 5000 + "; %x",
        "free_var %x: Tensor[(" + "(" * 5000 + "n",
        "free_var %x; test.pool(%x, pads=" + "[" * 5000,
        "match (1) { " + "(" * 5000,
    ],
    ids=["types", "dimensions", "attributes", "patterns"],
)
def test_other_nesting_has_a_limit(text: str) -> None:
    with pytest.raises(ParseError, match="nested deeper than 100 levels"):
        parse_expr(text)


def graph_chain(length: int) -> str:
    lines = [f"  %{i} = test.add(%{i - 1}, %x);" for i in range(1, length)]
    return "\n".join(["fn (%x) {", "  %0 = test.add(%x, %x);", *lines, f"  %{length - 1}", "}"])


def let_chain(length: int) -> str:
    lines = [f"  let %y{i} = test.add(%y{i - 1}, %x);" for i in range(1, length)]
    return "\n".join(["fn (%x) {", "  let %y0 = %x;", *lines, f"  %y{length - 1}", "}"])


def check_chain(text: str) -> None:
    expr = parse_expr(text)
    again = parse_expr(astext(expr))
    assert structural_equal(expr, again)
    assert astext(again) == astext(expr)


def test_long_chains() -> None:
    check_chain(graph_chain(5_000))
    check_chain(let_chain(5_000))


@pytest.mark.slow
def test_very_long_chains() -> None:
    check_chain(graph_chain(100_000))
    check_chain(let_chain(100_000))


def test_windows_line_ends_are_fine() -> None:
    text = textwrap.dedent("def @main() {\n  // nothing\n  1\n}\n").replace("\n", "\r\n")
    assert structural_equal(parse(text), parse("def @main() { 1 }"))


def test_operators_are_found_by_name() -> None:
    assert parse_expr("test.add") is ADD
    assert printed(parse_expr('"test.odd name:0"')) == '"test.odd name:0"\n'
