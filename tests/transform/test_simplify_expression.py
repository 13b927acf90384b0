import pytest

from relay_tune.ir.expr import Tuple
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import structural_equal
from relay_tune.ir.traversal import post_order
from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.transform.simplify_expression import SimplifyExpression
from relay_tune.typing.infer import infer_types

X = "%x: Tensor[(2, 3, 4), float32]"

REWRITES = [
    ("add(%x, 0f)", "%x"),
    ("add(0f, %x)", "%x"),
    ("multiply(%x, 1f)", "%x"),
    ("subtract(%x, 0f)", "%x"),
    ("divide(%x, 2f)", "multiply(%x, 0.5f)"),
    ("multiply(2f, %x)", "multiply(%x, 2f)"),
    ("add(add(%x, 1f), 2f)", "add(%x, 3f)"),
    ("multiply(multiply(%x, 3f), 2f)", "multiply(%x, 6f)"),
    ("power(%x, 2f)", "multiply(%x, %x)"),
    ("divide(%x, sqrt(%x))", "multiply(%x, rsqrt(%x))"),
    ("negative(negative(%x))", "%x"),
    ("nn.relu(nn.relu(%x))", "nn.relu(%x)"),
    ("clip(clip(%x, a_min=0f, a_max=6f), a_min=1f, a_max=9f)", "clip(%x, a_min=1f, a_max=6f)"),
    ("clip(nn.relu(%x), a_min=-1f, a_max=6f)", "clip(%x, a_min=0f, a_max=6f)"),
    ("nn.relu(clip(%x, a_min=-1f, a_max=6f))", "clip(%x, a_min=0f, a_max=6f)"),
    ("reshape(reshape(%x, newshape=[6, 4]), newshape=[24])", "reshape(%x, newshape=[24])"),
    ("reshape(%x, newshape=[2, 3, 4])", "%x"),
    ("expand_dims(%x, axis=0)", "reshape(%x, newshape=[1, 2, 3, 4])"),
    ("squeeze(expand_dims(%x, axis=1), axis=[1])", "%x"),
    ("transpose(transpose(%x, axes=[1, 0, 2]), axes=[1, 0, 2])", "%x"),
    ("transpose(transpose(%x, axes=[1, 2, 0]), axes=[0, 2, 1])", "transpose(%x, axes=[1, 0, 2])"),
    ('cast(%x, dtype="float32")', "%x"),
    ("concatenate((%x,), axis=1)", "%x"),
    (
        "concatenate((concatenate((%x, %x), axis=1), %x), axis=-2)",
        "concatenate((%x, %x, %x), axis=-2)",
    ),
    ("strided_slice(%x, begin=[0, 0, 0], end=[2, 3, 4], strides=[1, 1, 1])", "%x"),
]


@pytest.mark.parametrize(("before", "after"), REWRITES)
def test_rewrite(before: str, after: str) -> None:
    module, expected = _module(before), _module(after)
    assert structural_equal(SimplifyExpression()(module), expected)


KEPT = [
    "add(%x, 1f)",
    "divide(%x, 0f)",
    "transpose(%x, axes=[1, 0, 2])",
    "clip(clip(%x, a_min=0f, a_max=1f), a_min=2f, a_max=3f)",
    'cast(cast(%x, dtype="int32"), dtype="float32")',
]


@pytest.mark.parametrize("text", KEPT)
def test_what_would_change_the_meaning_is_kept(text: str) -> None:
    module = _module(text)
    assert SimplifyExpression()(module) is module


def test_slice_of_slice_is_one_slice() -> None:
    inner = "strided_slice(%x, begin=[0, 1, 1], end=[2, 3, 4], strides=[1])"
    outer = f"strided_slice({inner}, begin=[0, 1, 1], end=[2, 2, 3], strides=[1])"
    merged = "strided_slice(%x, begin=[0, 2, 2], end=[2, 3, 4], strides=[1, 1, 1], axes=[0, 1, 2])"
    assert structural_equal(SimplifyExpression()(_module(outer)), _module(merged))


def test_transpose_that_moves_unit_dims_is_a_reshape() -> None:
    before = "transpose(expand_dims(%x, axis=0), axes=[1, 2, 0, 3])"
    after = "reshape(%x, newshape=[2, 3, 1, 4])"
    assert structural_equal(SimplifyExpression()(_module(before)), _module(after))


def test_a_rule_can_be_left_out() -> None:
    module = _module("add(%x, 0f)")
    assert SimplifyExpression(without=frozenset({"drop_neutral"}))(module) is module


def _module(expression: str):  # type: ignore[no-untyped-def]
    text = f'#[version = "0.0.5"]\ndef @main({X}) {{ {expression} }}'
    return EliminateDeadCode()(infer_types(parse(text)))


def test_concatenations_that_double_are_merged_up_to_a_limit() -> None:
    lines = ["%0 = concatenate((%x, %x), axis=1)"]
    lines += [f"%{n + 1} = concatenate((%{n}, %{n}), axis=1)" for n in range(11)]
    merged = SimplifyExpression()(_module("; ".join(lines) + "; %11"))
    tuples = [node for node in post_order(merged.main) if isinstance(node, Tuple)]
    assert max(len(node.fields) for node in tuples) == 64
