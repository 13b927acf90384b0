"""The part of a product that one branch needs is computed there."""

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_call, static_shape
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.branches.divide_products import DivideProducts
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.typing.infer import infer_types

ROWS, FEATURES = 48, 2048


def _module(branches: str, between: str = "") -> Module:
    text = (
        f"def @main(%x: Tensor[(1, {FEATURES}), float32], %c: bool, "
        f"%w: Tensor[({ROWS}, {FEATURES}), float32], %b: Tensor[({ROWS}), float32]) {{ "
        f"%0 = nn.dense(%x, %w) + %b; {between} if (%c) {branches} }}"
    )
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((ROWS, FEATURES)).astype(np.float32),
        "b": rng.standard_normal(ROWS).astype(np.float32),
    }
    return FoldConstants()(infer_types(BindParameters(weights)(rt.parse(text))))


def _slice(begin: int, end: int) -> str:
    return f"strided_slice(%0, begin=[{begin}], end=[{end}], axes=[1])"


def _products(module: Module) -> list[int]:
    """The columns of each product."""
    calls = [operator_call(node, "nn.dense") for node in post_order(module.main)]
    shapes = [static_shape(call) for call in calls if call is not None]
    return sorted(shape[1] for shape in shapes if shape is not None)


def _same_answers(before: Module, after: Module) -> None:
    x = np.random.default_rng(1).standard_normal((1, FEATURES)).astype(np.float32)
    for condition in (True, False):
        expected = rt.interpret(before, x, condition)
        np.testing.assert_allclose(rt.interpret(after, x, condition), expected, rtol=1e-4)


def test_each_branch_computes_its_part() -> None:
    before = _module(f"{{ {_slice(0, 16)} }} else {{ exp({_slice(16, 32)}) }}")
    after = DivideProducts()(before)
    assert _products(after) == [16, 16]
    _same_answers(before, after)


def test_a_part_that_all_need_is_computed_before() -> None:
    before = _module(f"{{ %1 }} else {{ %1 + {_slice(32, 48)} }}", f"%1 = tanh({_slice(0, 16)});")
    after = DivideProducts()(before)
    assert _products(after) == [16, 16]
    _same_answers(before, after)


def test_slices_of_one_branch_stay_one_product() -> None:
    before = _module(f"{{ {_slice(0, 16)} * {_slice(16, 32)} }} else {{ {_slice(32, 48)} }}")
    after = DivideProducts()(before)
    assert _products(after) == [16, 32]
    _same_answers(before, after)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (_slice(0, 32), _slice(16, 48)),
        (_slice(0, 16), "%0"),
        (_slice(0, 16), _slice(16, 17)),
    ],
    ids=["parts overlap", "all is needed, too", "a part is hardly any work"],
)
def test_other_products_stay_one(first: str, second: str) -> None:
    before = _module(f"{{ sum({first}) }} else {{ sum({second}) }}")
    assert _products(DivideProducts()(before)) == [ROWS]
