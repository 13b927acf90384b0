"""Where checks of indices are put, and where none is needed."""

import pytest

import relay_tune as rt
from relay_tune.errors import IndexRangeError
from relay_tune.ir.expr import Call
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_name
from relay_tune.transform.check_indices import CheckIndices
from relay_tune.typing.infer import infer_types

INPUTS = (
    "%t: Tensor[(10, 4), float32], %i: Tensor[(3), int32], %x: Tensor[(3, 10), float32], "
    "%c: Tensor[(), bool]"
)


def _checks(body: str, inputs: str = INPUTS) -> list[Call]:
    module = infer_types(rt.parse(f"def @main({inputs}) {{ {body} }}"))
    found = post_order(CheckIndices()(module).main)
    return [node for node in found if operator_name(node) == "check_indices"]


@pytest.mark.parametrize(
    "body",
    [
        'take(%t, argmax(%x, axis=[1]), axis=0, mode="raise")',
        'take(%t, floor_mod(%i, 10), axis=0, mode="raise")',
        'take(%t, -10, axis=0, mode="raise")',
        'take(%t, %i, axis=0, mode="clip")',
        'take(%t, %i, axis=0, mode="wrap")',
        'take(%t, %i, axis=0, mode="fast")',
        "one_hot(%i, 1f, 0f, depth=4)",
        'take(%t, zeros(shape=(0,), dtype="int32"), axis=0, mode="raise")',
    ],
)
def test_what_needs_no_check(body):
    assert not _checks(body)


@pytest.mark.parametrize(
    "body",
    [
        'take(%t, %i, axis=0, mode="raise")',
        'take(%t, add(argmax(%x, axis=[1]), 1i64), axis=0, mode="raise")',
        "gather(%t, expand_dims(%i, axis=1), axis=0)",
        "gather_nd(%t, expand_dims(%i, axis=0))",
        "adv_index((%t, %i))",
        "invert_permutation(%i)",
        'scatter_nd(%t, expand_dims(%i, axis=0), zeros(shape=(3, 4), dtype="float32"))',
    ],
)
def test_what_needs_one(body):
    assert len(_checks(body)) == 1


def test_indices_are_checked_where_they_enter():
    body = 'take(%t, cast(reshape(%i, newshape=(3, 1)), dtype="int64"), axis=0, mode="raise")'
    (check,) = _checks(body)
    assert repr(check.arguments[0]) == "%i"


def test_indices_are_checked_once():
    use = 'take(%t, %i, axis=0, mode="raise")'
    assert len(_checks(f'add({use}, take(%t, expand_dims(%i, axis=0), axis=0, mode="raise"))')) == 1
    assert len(_checks(f"if (%c) {{ {use} }} else {{ nn.relu({use}) }}")) == 2


def test_known_indices_are_checked_at_once():
    with pytest.raises(IndexRangeError, match="take at .*It is 10, and the axis has 10"):
        _checks('take(%t, 10, axis=0, mode="raise")')
    with pytest.raises(IndexRangeError, match="It is -11"):
        rt.build(
            rt.parse(f'def @main({INPUTS}) {{ take(%t, -11, axis=0, mode="raise") }}'), threads=1
        )


def test_an_open_size_is_asked_for():
    (check,) = _checks('take(%t, %i, axis=0, mode="raise")', "%t: Tensor[(n), int8], %i: int64")
    assert check.attributes.sizes == (-1,)
    assert repr(check.arguments[2].fields[0]) == "%t"
