from typing import Any

import numpy as np
import pytest

from relay_tune.ir.expr import Call, Tuple
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import structural_equal
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import constant_data, operator_name
from relay_tune.transform.bind_parameters import BindParameters
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
    (
        "concatenate((strided_slice(%x, begin=[0], end=[3], axes=[2]), "
        "strided_slice(%x, begin=[3], end=[4], axes=[2])), axis=2)",
        "%x",
    ),
    (
        "concatenate((%x, strided_slice(%x, begin=[0], end=[1], axes=[1]), "
        "strided_slice(%x, begin=[1], end=[2], axes=[1])), axis=1)",
        "concatenate((%x, strided_slice(%x, begin=[0, 0, 0], end=[2, 2, 4], strides=[1, 1, 1], "
        "axes=[0, 1, 2])), axis=1)",
    ),
]


@pytest.mark.parametrize(("before", "after"), REWRITES)
def test_rewrite(before: str, after: str) -> None:
    module, expected = _module(before), _module(after)
    assert structural_equal(SimplifyExpression()(module), expected)


KEPT = [
    "concatenate((strided_slice(%x, begin=[3], end=[4], axes=[2]), "
    "strided_slice(%x, begin=[0], end=[3], axes=[2])), axis=2)",
    "add(%x, 1f)",
    "divide(%x, 0f)",
    "divide(%x, 3e38f)",  # one by it is no normal number
    "multiply(multiply(%x, 1e30f), 1e30f)",
    "multiply(multiply(%x, 1e-30f), 1e-30f)",
    "add(add(%x, 3e38f), 3e38f)",
    "transpose(%x, axes=[1, 0, 2])",
    "clip(clip(%x, a_min=0f, a_max=1f), a_min=2f, a_max=3f)",
    'cast(cast(%x, dtype="int32"), dtype="float32")',
]


def test_a_number_is_divided() -> None:
    module = infer_types(parse("def @main(%x: float32) { divide(%x, 255f) }"))
    assert SimplifyExpression()(module) is module


@pytest.mark.parametrize("text", KEPT)
def test_what_would_change_the_meaning_is_kept(text: str) -> None:
    module = _module(text)
    assert SimplifyExpression()(module) is module


BIASES = [
    ("nn.bias_add(%x, %b, axis=1)", "%c", [11, 22, 33]),
    ("nn.bias_add(%x, %b, axis=-2)", "%c", [11, 22, 33]),
    ("nn.bias_add(%x, %b, axis=1)", "5f", [6, 7, 8]),
    ("nn.bias_add(%x, %b, axis=1)", "%d", None),
    ("nn.bias_add(%x, %e, axis=2)", "%c", None),
]
"""(a bias, what is added to it, the one bias that both become or None)"""


@pytest.mark.parametrize(("biased", "added", "together"), BIASES)
def test_a_constant_for_each_channel_joins_the_bias(
    biased: str, added: str, together: list[float] | None
) -> None:
    values = {
        "b": [1, 2, 3],
        "c": [[10], [20], [30]],
        "d": [[[1]], [[2]]],
        "e": [1, 2, 3, 4],
    }
    text = f"""
    def @main({X}, %b: Tensor[(3), float32], %c: Tensor[(3, 1), float32],
              %d: Tensor[(2, 1, 1), float32], %e: Tensor[(4), float32]) {{
      add({biased}, {added})
    }}"""
    bound = BindParameters({name: np.array(v, np.float32) for name, v in values.items()})
    body = SimplifyExpression()(infer_types(bound(infer_types(parse(text))))).main.body
    assert isinstance(body, Call)
    if together is None:
        assert operator_name(body) == "add"
    else:
        bias = constant_data(body.arguments[1])
        assert operator_name(body) == "nn.bias_add" and bias is not None
        assert bias.tolist() == together


@pytest.mark.parametrize(("widths", "is_kept"), [("[0, 0]", False), ("[1, -1]", True)])
def test_pads_of_nothing_are_dropped_and_shifts_are_not(
    typed: Any, calls: Any, widths: str, is_kept: bool
) -> None:
    text = f"(%x: Tensor[(4, 4), float32]) {{ nn.pad(%x, 0f, pad_width=[[0, 0], {widths}]) }}"
    assert calls(SimplifyExpression()(typed(text))) == ["nn.pad"] * is_kept


OF_OPEN_SIZE = [
    ("strided_slice(%x, begin=[1], end=[9], strides=[1], axes=[0])", False),
    ("nn.pad(%x, 0f, pad_width=[[1, 1], [0, 0]])", False),
    ("reshape(%x, newshape=[-1, 4])", False),
    ("reshape_like(%x, %y)", False),
    ('cast(%x, dtype="float32")', True),
]


@pytest.mark.parametrize(("expression", "is_dropped"), OF_OPEN_SIZE)
def test_unknown_sizes_are_not_taken_for_equal(expression: str, is_dropped: bool) -> None:
    declared = "%x: Tensor[(?, 4), float32], %y: Tensor[(?, 4), float32]"
    module, nothing = (
        infer_types(parse(f"def @main({declared}) {{ {each} }}")) for each in (expression, "%x")
    )
    expected = nothing if is_dropped else module
    assert structural_equal(SimplifyExpression()(module), expected)


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


SQUEEZED = "transpose(squeeze(%k, axis=[0]), axes=[0, 2, 1])"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"reshape({SQUEEZED}, newshape=[1, 4, 8, -1])", "transpose(%k, axes=[0, 1, 3, 2])"),
        (f"expand_dims({SQUEEZED}, axis=1)", "transpose(%k, axes=[1, 0, 3, 2])"),
        (f"expand_dims({SQUEEZED}, axis=0, num_newaxis=2)", None),
        (f"reshape({SQUEEZED}, newshape=[2, 2, 8, -1])", None),
        (f"reshape({SQUEEZED}, newshape=[1, 8, 4, -1])", None),
    ],
)
def test_unit_axes_around_a_transpose_stay_in_it(before: str, after: str | None) -> None:
    first, second = (
        infer_types(parse(f"def @main(%k: Tensor[(1, 4, n, 8), float32]) {{ {text} }}"))
        for text in (before, after or before)
    )
    assert structural_equal(SimplifyExpression()(first), second)
