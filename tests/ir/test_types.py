"""Values in the form of a type."""

from __future__ import annotations

from relay_tune.ir.types import UNIT, TensorType, TupleType, unflatten


def test_parts_are_put_into_the_tuples_of_a_type_from_left_to_right() -> None:
    leaf = TensorType((2,), "float32")
    parts = iter("abcd")
    type_ = TupleType((leaf, TupleType((UNIT, leaf)), leaf))
    assert unflatten(type_, parts) == ("a", ((), "b"), "c")
    assert unflatten(leaf, parts) == "d"
