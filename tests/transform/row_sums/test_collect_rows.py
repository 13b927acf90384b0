"""Sums over rows that a recursion adds up are collected, where that is right and worth it.

Numbers are small and whole, so that sums are exact in any order.
"""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.row_sums.collect_rows import CollectRows
from relay_tune.typing.infer import infer_types
from tests.transform.language.conftest import Check, answer_kept, main_of

__all__ = ["answer_kept"]

COLLECT = CollectRows()
SUM = "Tensor[(3, 4), float32]"
D = np.asarray([[1, -2, 3]], np.float32)
X = np.asarray([[2, 0, 1, -1]], np.float32)
FEEDS = {"d": D, "x": X}
PRODUCT = "nn.matmul(%d, %x, transpose_a=True)"
TYPES = """
type Tape { Step(Tensor[(1, 3), float32], Tensor[(1, 4), float32], Tape), End }
"""


def _backward(step: str, end: str = "zeros(shape=(3, 4))", result: str = SUM) -> str:
    return (
        f"def @backward(%tape: Tape) -> {result} {{ match (%tape) {{ "
        f"Step(%d, %x, %rest) => {step}, End => {end} }} }}"
    )


def _main(value: str = "@backward(%tape)") -> str:
    return (
        "def @main(%d: Tensor[(1, 3), float32], %x: Tensor[(1, 4), float32]) { "
        "let %tape = Step(%d, %x, Step(%d + %d, %x, Step(%d, %x - 1f, End))); "
        f"{value} }}"
    )


def _function(after: str, name: str) -> str:
    return after.partition(f"def @{name}(")[2].partition("\ndef")[0]


def test_products_of_steps_become_one(answer_kept: Check) -> None:
    text = TYPES + _backward(f"{PRODUCT} + @backward(%rest)") + _main()
    after = answer_kept(COLLECT, text, D, X)
    inside = _function(after, "backward")
    assert "TermProductRows(%d, %x, " in inside and "NoProductRows" in inside
    assert "matmul" not in inside and "add" not in inside and "zeros" not in inside
    assert "@product_of_rows(" in main_of(after)


def test_native_code_gives_the_same() -> None:
    text = TYPES + _backward(f"{PRODUCT} + @backward(%rest)") + _main()
    module = parse(text)
    exact = build(module, threads=1, accuracy="exact")
    np.testing.assert_array_equal(build(module, threads=1).run(FEEDS), exact.run(FEEDS))


def test_sums_of_rows_become_one(answer_kept: Check) -> None:
    reduced = "collapse_sum_to(%d, shape=(3,))"
    step, vector = f"add({reduced}, @backward(%rest))", "Tensor[(3), float32]"
    text = TYPES + _backward(step, "zeros(shape=(3,))", vector) + _main()
    after = answer_kept(COLLECT, text, D, X)
    assert "TermColumnsRows(%d, " in _function(after, "backward")


def test_rows_at_places_are_put_there_at_once(answer_kept: Check) -> None:
    table = "Tensor[(5, 4), float32]"
    rows = (
        "type Rows { Row(Tensor[(2), int32], Tensor[(1, 4), float32], Rows), Last }"
        f"def @add_rows(%rows: Rows) -> {table} {{ match (%rows) {{ "
        "Row(%i, %x, %rest) => scatter_nd(zeros(shape=(5, 4)), expand_dims(%i, axis=0), "
        'concatenate((%x, %x + 1f)), mode="add") + @add_rows(%rest), '
        "Last => zeros(shape=(5, 4)) } }"
        "def @main(%i: Tensor[(2), int32], %x: Tensor[(1, 4), float32]) { "
        "@add_rows(Row(%i, %x, Row(%i + 1, %x, Last))) }"
    )
    after = answer_kept(COLLECT, rows, np.asarray([3, 0], np.int32), X)
    assert "scatter_nd" not in _function(after, "add_rows")
    assert "scatter_nd" in _function(after, "scattered_of_rows")


@pytest.mark.parametrize(
    "scattered",
    [
        'scatter_nd(ones(shape=(3, 4)), %i, %x, mode="add")',
        'scatter_nd(zeros(shape=(3, 4)), %i, %x, mode="max")',
    ],
)
def test_other_rows_at_places_stay(answer_kept: Check, scattered: str) -> None:
    place = 'let %i = zeros(shape=(1, 1), dtype="int32")'
    text = TYPES + _backward(f"{{ {place}; {scattered} + @backward(%rest) }}") + _main()
    assert "Rows" not in answer_kept(COLLECT, text, D, X)


def test_tuples_and_data_types_carry_collections(answer_kept: Check) -> None:
    adjoint = f"type Adjoint {{ Some({SUM}, float32), Nothing }}"
    step = (
        "match (@backward(%rest).0) { "
        f"Some(%s, %n) => (Some(add(%s, {PRODUCT}), %n + 1f), 1f), "
        f"Nothing => (Some({PRODUCT}, 1f), 1f) }}"
    )
    text = TYPES + adjoint + _backward(step, "(Nothing, 0f)", "(Adjoint, float32)")
    value = "match (@backward(%tape).0) { Some(%s, %n) => %s * %n, Nothing => zeros(shape=(3, 4)) }"
    after = answer_kept(COLLECT, text + _main(value), D, X)
    assert "Some(ProductRows, float32)" in after
    assert "add(%s" not in _function(after, "backward")


def test_two_recursions_are_added(answer_kept: Check) -> None:
    text = TYPES + _backward(f"{PRODUCT} + @backward(%rest)")
    after = answer_kept(COLLECT, text + _main("@backward(%tape) + @backward(%tape)"), D, X)
    assert "BothProductRows(" in main_of(after)


def test_branches_may_pass_on_one_value_each(answer_kept: Check) -> None:
    step = f"let %s = @backward(%rest); if (sum(%x) < 2f) {{ %s }} else {{ {PRODUCT} + %s }}"
    after = answer_kept(COLLECT, TYPES + _backward(f"{{ {step} }}") + _main(), D, X)
    assert "TermProductRows" in _function(after, "backward")


def test_what_is_read_several_times_is_summed_once(answer_kept: Check) -> None:
    value = "let %s = (@backward(%tape), 1f); %s.0 * %s.0 - %s.0"
    text = TYPES + _backward(f"{PRODUCT} + @backward(%rest)") + _main(value)
    assert main_of(answer_kept(COLLECT, text, D, X)).count("@product_of_rows(") == 1


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(f"{PRODUCT} + @backward(%rest) * 2f", id="elements are read in each step"),
        pytest.param(f"{PRODUCT} + ones(shape=(3, 4)) + @backward(%rest)", id="others are added"),
        pytest.param(
            f"{{ let %s = @backward(%rest); %s + (%s + {PRODUCT}) }}", id="passed on twice"
        ),
        pytest.param(
            "nn.matmul(concatenate((%d, %d, %d)), concatenate((%x, %x, %x)), transpose_a=True)"
            " + @backward(%rest)",
            id="rows are larger than the sum",
        ),
        pytest.param(f"{PRODUCT} - @backward(%rest)", id="differences"),
    ],
)
def test_what_stays(answer_kept: Check, step: str) -> None:
    text = TYPES + _backward(step) + _main()
    assert "Rows" not in answer_kept(COLLECT, text, D, X)
    assert _is_unchanged(text)


def test_a_sum_that_a_loop_hands_on_stays(answer_kept: Check) -> None:
    loop = (
        f"def @loop(%n: int32, %d: Tensor[(1, 3), float32], %s: {SUM}) -> {SUM} {{ "
        "if (%n < 1) { %s } else { @loop(%n - 1, %d, %s + nn.matmul(%d, "
        "ones(shape=(1, 4)), transpose_a=True)) } }"
        "def @main(%d: Tensor[(1, 3), float32]) { @loop(4, %d, zeros(shape=(3, 4))) }"
    )
    assert "Rows" not in answer_kept(COLLECT, loop, D)


def test_sums_in_what_users_see_stay(answer_kept: Check) -> None:
    adjoint = f"type Adjoint {{ Some({SUM}) }}"
    step = f"match (@backward(%rest)) {{ Some(%s) => Some(%s + {PRODUCT}) }}"
    text = TYPES + adjoint + _backward(step, "Some(zeros(shape=(3, 4)))", "Adjoint") + _main()
    assert "Rows" not in answer_kept(COLLECT, text, D, X)


def test_what_closures_capture_stays(answer_kept: Check) -> None:
    step = f"{{ let %s = @backward(%rest); let %f = fn () {{ %s + {PRODUCT} }}; %f() }}"
    assert "Rows" not in answer_kept(COLLECT, TYPES + _backward(step) + _main(), D, X)


def test_a_sum_without_a_recursion_stays() -> None:
    assert _is_unchanged(TYPES + _main(f"{PRODUCT} + {PRODUCT}"))


def test_exact_sums_keep_their_order() -> None:
    module = infer_types(parse(TYPES + _backward(f"{PRODUCT} + @backward(%rest)") + _main()))
    assert CollectRows(Accuracy.EXACT)(module) is module
    assert isinstance(COLLECT(module), Module) and COLLECT(module) is not module


def _is_unchanged(text: str) -> bool:
    module = infer_types(parse(text))
    return COLLECT(module) is module
