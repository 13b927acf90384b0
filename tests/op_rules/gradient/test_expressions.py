"""Adjoints in the shapes of what they are adjoints of."""

from __future__ import annotations

import pytest

from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.expr import Var
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.gradient.expressions import shaped_like, summed_to
from relay_tune.op_rules.matching import operator_name


def tensor(name: str, shape: tuple[Dim, ...]) -> Var:
    type_ = TensorType(shape, "float32")
    return Var(name, type_, type=type_)


@pytest.mark.parametrize(
    ("given", "wanted", "operator"),
    [
        ((4, 3), (4, 3), None),
        ((12,), (4, 3), "reshape"),
        ((UNKNOWN, 3), (UNKNOWN, 3), None),  # as many elements: the sizes are one
        ((UNKNOWN, UNKNOWN), (UNKNOWN, UNKNOWN), "reshape_like"),
        ((UNKNOWN, 0), (UNKNOWN, 0), "reshape_like"),
        ((UNKNOWN, 3), (UNKNOWN, 6), "reshape_like"),
    ],
)
def test_elements_in_order(
    given: tuple[Dim, ...], wanted: tuple[Dim, ...], operator: str | None
) -> None:
    value = tensor("value", given)
    found = shaped_like(value, tensor("like", wanted))
    assert found is value if operator is None else operator_name(found) == operator


@pytest.mark.parametrize("shape", [(UNKNOWN, 3), (4, UNKNOWN)])
def test_unnamed_sizes_may_be_repeated_ones(shape: tuple[Dim, ...]) -> None:
    value = tensor("value", shape)
    assert operator_name(summed_to(value, tensor("like", shape))) == "collapse_sum_like"
