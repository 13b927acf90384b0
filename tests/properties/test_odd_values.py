"""Outliers, infinities and NaN in one element: native code changes no result that numpy does not.

Longer campaigns: `python -m benchmarks.fuzz_odd_values`.
"""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune.op  # noqa: F401  registers all operators
from benchmarks.fuzz_odd_values import cases
from benchmarks.fuzzing import odd_networks, odd_values
from benchmarks.fuzzing.odd_cases.case import Case
from benchmarks.fuzzing.odd_cases.table import CASES
from benchmarks.fuzzing.odd_values import Position, with_element
from relay_tune.ir.operator import operators

SEEDS = {"nn.conv2d": (0, 3, 5), "nn.conv2d_transpose": (0, 1, 2), "nn.max_pool2d": (4,)}
"""Where one case is not enough."""

OTHERS = frozenset(
    # whole numbers and truth values
    "all any adv_index bitwise_and bitwise_not bitwise_or bitwise_xor check_indices index_extent "
    "invert_permutation qnn.lookup "
    "left_shift logical_and logical_not logical_or logical_xor right_shift unravel_index "
    # shapes, bits, draws, and one value everywhere
    "arange dyn.arange dyn.full dyn.ones dyn.zeros full full_like meshgrid ndarray_size ones "
    "ones_like random.normal random.uniform reinterpret shape_of zeros zeros_like "
    # with sizes that come at run time, what others do that have cases
    "dyn.broadcast_to dyn.reshape dyn.strided_slice dyn.tile dyn.topk "
    # results whose size depends on the values, and indices of values in an order
    "argwhere searchsorted unique vision.all_class_non_max_suppression "
    # derivatives of functions, which a pass replaces, and what it takes for constant
    "custom_jvp custom_vjp derivative derivative.adjoint derivative.tangent grad jvp ruled vjp"
    " stop_gradient checkpoint checkpointed again decisive".split()
)
"""Operators without cases of their own."""


@pytest.mark.parametrize("name", sorted(CASES))
def test_an_odd_element_changes_what_it_changes_in_numpy(name: str) -> None:
    for seed in SEEDS.get(name, (0,)):
        assert list(odd_values.problems(name, seed)) == []


@pytest.mark.parametrize(
    ("kind", "seed"), [("convolutional", 1), ("transformer", 1), ("channels_last", 2)]
)
def test_in_networks_too(kind: str, seed: int) -> None:
    assert list(odd_networks.problems(kind, seed)) == []


def test_every_operator_has_a_case_or_needs_none() -> None:
    names = {each.name for each in operators() if not each.name.startswith(("test.", "demo."))}
    assert set(CASES) <= names
    assert names >= OTHERS and not OTHERS & set(CASES)
    assert names - set(CASES) - OTHERS == set()


def test_what_changes_is_found() -> None:
    """A sum over all elements in the place of one over each row."""
    rows = np.arange(6, dtype="float32").reshape(2, 3)
    index = Position(0, 0, (1, 2))
    case = Case((rows,), {"axis": (1,)})
    (odd,) = with_element(case.operands, index, np.inf)
    assert np.isinf(odd[1, 2]) and np.isfinite(rows).all()
    right, wrong = odd.sum(axis=1), np.full(2, np.inf, "float32")
    before, wide = rows.sum(axis=1), rows.astype("float64").sum(axis=1)
    sums = next(each for each in operators() if each.name == "sum")
    found = odd_values.changes(sums, case, (odd,), ([before], [right], [wide]), False)
    assert list(found) == []
    lines = list(odd_values.changes(sums, case, (odd,), ([before], [wrong], [wide]), False))
    assert len(lines) == 2 and "1 of 1 change" in lines[0] and "the first at (0,)" in lines[1]


def test_campaigns_take_all_operators_and_kinds_in_turn() -> None:
    found = cases(None, 5)
    names = [next(found) for _ in range(400)]
    assert {name for name, _ in names} >= set(CASES) | {"perceptron"}
    assert min(seed for _, seed in names) == 5
