"""Derivatives that are derived from computations, of every operator of floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from benchmarks.fuzzing.derivatives import DERIVED, WRITTEN, Outcome, finding, typed_call
from benchmarks.fuzzing.odd_cases.case import Draw
from benchmarks.fuzzing.odd_cases.table import CASES
from relay_tune.ir.expr import Expr, Function, Tuple
from relay_tune.ir.operator import find_operator
from relay_tune.op.lower import lower_function
from relay_tune.op_rules.gradient.derived import derived_adjoints
from relay_tune.op_rules.gradient.rule import Differentiated
from relay_tune.tensor.evaluate import evaluate

LOOP_NESTS = frozenset("cumprod cumsum scatter_elements scatter_nd sort topk".split())
"""Operators that are no expressions: their rules are written by hand."""

SLOW = frozenset(
    "image.resize3d nn.adaptive_avg_pool2d nn.adaptive_max_pool2d nn.conv3d_transpose "
    "image.grid_sample nn.adaptive_max_pool1d".split()
)
"""Sums at positions that are computed run one by one in the evaluator."""

NATIVE = (
    "abs power add where clip sum prod max mean nn.softmax nn.dense nn.batch_matmul nn.conv2d "
    "nn.conv2d_transpose nn.max_pool2d nn.avg_pool2d nn.layer_norm nn.pad reshape transpose "
    "strided_slice concatenate take gather image.resize2d nn.upsampling repeat tile"
).split()


def drawn(name: str, seed: int = 0) -> tuple[Any, Any, Any]:
    operator = find_operator(name)
    assert operator is not None
    case = CASES[name](Draw(np.random.default_rng(seed)))
    return operator, case.operands, operator.attributes(**case.attributes)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in sorted(CASES)],
)
def test_they_agree_with_differences(name: str) -> None:
    found = finding(*drawn(name), DERIVED)
    wanted = (Outcome.REFUSED,) if name in LOOP_NESTS else (Outcome.RIGHT, Outcome.NONE)
    assert found.outcome in (*wanted, Outcome.CONSTANT) and found.second is not False, found


def test_the_campaign_takes_indices_that_a_program_accepts() -> None:
    gather = find_operator("gather")
    assert gather is not None
    indices, data = np.array([[9, -2, -4]]), np.arange(6.0).reshape(2, 3)
    found = finding(gather, [data, indices], gather.attributes(axis=0))
    assert found.outcome is Outcome.RIGHT, found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES))
def test_rules_by_hand_agree_with_differences_in_both_modes(name: str) -> None:
    found = finding(*drawn(name), WRITTEN)
    assert found.outcome in (Outcome.RIGHT, Outcome.NONE, Outcome.CONSTANT), found
    assert found.second is not False, found


@pytest.mark.parametrize("name", NATIVE)
def test_native_code_computes_the_same(name: str) -> None:
    operator, arrays, record = drawn(name)
    typed = typed_call(operator, arrays, record)
    found = derived_adjoints(Differentiated(typed.call, typed.call, typed.adjoint))
    leaves = [part for each in found for part in (each if isinstance(each, tuple) else (each,))]
    results = Tuple(tuple(each for each in leaves if isinstance(each, Expr)))
    weights = [weight for weight in typed.weights if weight is not None]
    function = Function((*typed.inputs, *weights), results)
    rng = np.random.default_rng(1)
    given = [*typed.arrays]
    for weight in weights:
        given.append(np.asarray(rng.standard_normal(weight.type.shape), weight.type.dtype))
    program = lower_function(function)
    feeds = dict(zip(program.inputs, given, strict=True))
    expected = evaluate(program.outputs, feeds)
    native = rt.build(rt.infer_types(rt.Module({"main": function})))(*given)
    for value, reference in zip(native, expected, strict=True):
        np.testing.assert_allclose(value, reference, 2e-4, 2e-4)
