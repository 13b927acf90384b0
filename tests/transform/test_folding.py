"""Constants, scales, compositions, shared values and unneeded ones."""

from typing import Any

import pytest

from relay_tune.ir.expr import Let
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import structural_equal
from relay_tune.ir.traversal import post_order
from relay_tune.transform.eliminate_common_subexpressions import EliminateCommonSubexpressions
from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.fold_scale_axis import FoldScaleAxis
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.simplify_inference import SimplifyInference
from relay_tune.typing.infer import infer_types

V = "%x: Tensor[(4,), float32]"
IMAGE = "%x: Tensor[(1, 4, 6, 6), float32]"
W = "%w: Tensor[(4, 4, 3, 3), float32]"
S = "%s: Tensor[(4, 1, 1), float32]"
B = "%b: Tensor[(4, 1, 1), float32]"
CONV = "nn.conv2d(%x, %w, padding=[1, 1])"


def test_constants_fold(typed: Any, calls: Any, assert_same_meaning: Any) -> None:
    before = typed(f"({V}, %c: Tensor[(4,), float32]) {{ add(%x, exp(multiply(%c, 2f))) }}", "c")
    after = FoldConstants()(before)
    assert calls(after) == ["add"]
    assert_same_meaning(before, after)


def test_decided_branch_is_taken(typed: Any, calls: Any) -> None:
    module = typed(f"({V}) {{ if (less(1f, 2f)) {{ exp(%x) }} else {{ tanh(%x) }} }}")
    assert calls(FoldConstants()(module)) == ["exp"]


def test_large_results_are_not_folded(typed: Any) -> None:
    module = typed("(%c: Tensor[(1, 1), float32]) { broadcast_to(%c, shape=[5000, 5000]) }", "c")
    assert FoldConstants()(module) is module


@pytest.mark.parametrize(
    ("text", "weights", "remaining"),
    [
        (f"({IMAGE}, {W}, {S}) {{ multiply({CONV}, %s) }}", "ws", ["nn.conv2d"]),
        (
            f"({IMAGE}, {W}, {S}, {B}) {{ multiply(add({CONV}, %b), %s) }}",
            "wsb",
            ["add", "nn.conv2d"],
        ),
        (
            f"({IMAGE}, {W}, {S}) {{ multiply(nn.relu({CONV}), %s) }}",
            "ws",
            ["nn.conv2d", "nn.relu"],
        ),
        (
            f"({IMAGE}, {W}, {S}) {{ {CONV.replace('%x', 'multiply(%x, %s)')} }}",
            "ws",
            ["nn.conv2d"],
        ),
        (
            "(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], "
            "%s: Tensor[(4,), float32]) { multiply(nn.dense(%x, %w), %s) }",
            "ws",
            ["nn.dense"],
        ),
        (
            f"({IMAGE}, %w: Tensor[(4, 1, 3, 3), float32], {S}) "
            "{ multiply(nn.conv2d(%x, %w, groups=4), %s) }",
            "ws",
            ["nn.conv2d"],
        ),
        (
            "(%x: Tensor[(1, 6, 6, 4), float32], %w: Tensor[(3, 3, 4, 2), float32], "
            "%s: Tensor[(2,), float32]) { multiply(nn.conv2d(%x, %w, "
            'data_layout="NHWC", kernel_layout="HWIO"), %s) }',
            "ws",
            ["nn.conv2d"],
        ),
    ],
)
def test_scale_folds_into_the_weight(
    text: str, weights: str, remaining: list[str], typed: Any, calls: Any, assert_same_meaning: Any
) -> None:
    before = typed(text, *weights)
    after = FoldScaleAxis()(before)
    assert calls(after) == remaining
    assert_same_meaning(before, after)


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        (f"({IMAGE}, {W}, {S}) {{ %0 = {CONV}; add(multiply(%0, %s), %0) }}", "ws"),
        (f"({IMAGE}, {W}, {S}) {{ multiply({CONV}, %s) }}", "s"),
        (f"({IMAGE}, {W}, %s: Tensor[(6,), float32]) {{ multiply({CONV}, %s) }}", "ws"),
        (f"({IMAGE}, {W}, {S}) {{ multiply(tanh({CONV}), %s) }}", "ws"),
    ],
)
def test_scale_that_cannot_fold_stays(
    text: str, weights: str, typed: Any, assert_same_meaning: Any
) -> None:
    before = typed(text, *weights)
    after = FoldScaleAxis()(before)
    assert structural_equal(before, after)


def test_batch_norm_becomes_scale_and_shift(
    typed: Any, calls: Any, assert_same_meaning: Any
) -> None:
    params = ", ".join(f"%{name}: Tensor[(4,), float32]" for name in "gbmv")
    before = typed(f"({IMAGE}, {params}) {{ nn.batch_norm(%x, %g, %b, %m, %v).0 }}", *"gbmv")
    after = FoldConstants()(SimplifyInference()(before))
    assert calls(after) == ["add", "multiply"]
    assert_same_meaning(before, after)


def test_dropout_disappears(typed: Any, calls: Any, assert_same_meaning: Any) -> None:
    before = typed(f"({V}) {{ exp(nn.dropout(%x, rate=0.5f)) }}")
    after = SimplifyInference()(before)
    assert calls(after) == ["exp"]
    assert_same_meaning(before, after)


def test_operator_that_is_kept_stays_whole(typed: Any) -> None:
    module = typed(f"({V}) {{ nn.dropout(%x) }}")
    assert SimplifyInference(keep=frozenset({"nn.dropout"}))(module) is module


def test_equal_calls_are_merged(typed: Any, calls: Any) -> None:
    module = typed(f"({V}) {{ add(exp(nn.relu(%x)), exp(nn.relu(%x))) }}")
    assert calls(EliminateCommonSubexpressions()(module)) == ["add", "exp", "nn.relu"]


def test_calls_with_other_attributes_are_not_merged(typed: Any) -> None:
    text = f"({V}) {{ add(clip(%x, a_min=0f, a_max=1f), clip(%x, a_min=0f, a_max=2f)) }}"
    module = typed(text)
    assert structural_equal(EliminateCommonSubexpressions()(module), module)


def test_equal_calls_of_two_closures_stay_apart(typed: Any, calls: Any) -> None:
    text = f"({V}) {{ let %f = fn (%y: Tensor[(4,), float32]) {{ add(%y, exp(%x)) }}; "
    module = typed(text + "add(%f(%x), exp(%x)) }")
    assert calls(EliminateCommonSubexpressions()(module)).count("exp") == 2


def test_lets_become_shared_nodes(assert_same_meaning: Any, typed: Any) -> None:
    before = typed(f"({V}) {{ let %a = exp(%x); let %b = add(%a, %a); multiply(%b, %a) }}")
    expected = typed(f"({V}) {{ %0 = exp(%x); multiply(add(%0, %0), %0) }}")
    after = ToGraphNormalForm()(before)
    assert structural_equal(after, expected)
    assert_same_meaning(before, after)


@pytest.mark.parametrize(
    "body",
    [
        "let %r = ref(%x); let %a = ref_read(%r); let %u = ref_write(%r, exp(%x)); %a",
        "let %a = exp(%x); let %f = fn () { add(%a, %a) }; %f()",
    ],
)
def test_bindings_that_say_more_than_sharing_stay(body: str, typed: Any) -> None:
    module = typed(f"({V}) {{ {body} }}")
    assert structural_equal(ToGraphNormalForm()(module), module)


def test_dead_bindings_and_functions_disappear() -> None:
    text = f"""#[version = "0.0.5"]
def @unused({V}) {{ %x }}
def @used({V}) {{ %x }}
def @main({V}) {{ let %a = exp(%x); let %b = tanh(%a); @used(%x) }}
"""
    after = EliminateDeadCode()(infer_types(parse(text)))
    assert set(after.functions) == {"used", "main"}
    without_lets = text.replace("let %a = exp(%x); let %b = tanh(%a); ", "")
    assert structural_equal(after.main, infer_types(parse(without_lets)).main)


def test_binding_with_an_effect_stays(typed: Any, assert_same_meaning: Any) -> None:
    text = f"({V}) {{ let %r = ref(%x); let %u = ref_write(%r, exp(%x)); ref_read(%r) }}"
    before = typed(text)
    after = EliminateDeadCode()(before)
    assert structural_equal(after, before)
    assert_same_meaning(before, after)


def test_long_chain_of_lets_becomes_a_graph() -> None:
    lines = "".join(f"let %a{i + 1} = exp(%a{i});\n" for i in range(20_000))
    text = f'#[version = "0.0.5"]\ndef @main(%a0: float32) {{ {lines} %a20000 }}'
    after = EliminateDeadCode()(ToGraphNormalForm()(infer_types(parse(text))))
    assert not any(isinstance(node, Let) for node in post_order(after.main))
