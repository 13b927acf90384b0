"""Which constants have pairs that add up to little, and how primitives say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Expr, Function, Var, constant
from relay_tune.ir.types import TensorType
from relay_tune.op.bounded_constants import (
    bounded_dimensions,
    constants_of,
    has_small_elements,
    with_bounded_dimensions,
    without_bounded_dimensions,
)
from relay_tune.op.lower import lower_function
from relay_tune.op.nn.matmul import dense
from relay_tune.op.primitive_key import canonical_text, primitive_key
from relay_tune.typing.infer import infer_expr


def layer(weights: np.ndarray) -> Function:
    """A product of bytes and weights, (o, k)."""
    x = Var("x", TensorType((3, weights.shape[1]), "uint8"))
    body: Expr = dense(x, constant(weights), out_dtype="int32")
    typed = infer_expr(Function((x,), body, attributes={"Primitive": 1}))
    assert isinstance(typed, Function)
    return typed


def marked(*rows: list[int], dtype: str = "int8") -> tuple[tuple[int, int], ...]:
    return bounded_dimensions(with_bounded_dimensions(layer(np.array(rows, dtype))))


@pytest.mark.parametrize(
    ("row", "is_bounded"),
    [
        ([64, 64, -64, -64], True),
        ([127, 1, -127, -1], True),
        ([127, -128, -128, 127], True),
        ([65, 64, 0, 0], False),
        ([0, 64, 65, 0], True),  # neighbours, but of two pairs
        ([0, 0, -65, -64], False),
        ([1, 2, 127], True),  # one is left over
    ],
)
def test_pairs_of_one_sign_add_up_to_128(row: list[int], is_bounded: bool) -> None:
    assert marked(row) == (((0, 1),) if is_bounded else ())


def test_each_dimension_has_pairs_of_its_own() -> None:
    assert marked([100, 0], [100, 0]) == ((0, 1),)
    assert marked([100, 100], [0, 0]) == ((0, 0),)
    assert marked([1, 1], [1, 1]) == ((0, 0), (0, 1))


def test_only_signed_bytes_are_bounded() -> None:
    assert marked([1, 1], [1, 1], dtype="uint8") == ()


def test_a_primitive_without_such_constants_is_itself() -> None:
    own = layer(np.full((2, 4), 127, "int8"))
    assert with_bounded_dimensions(own) is own


def test_what_was_known_of_other_weights_is_forgotten() -> None:
    small, large = (np.full((1, 4), most, "int8") for most in (64, 127))
    stale = replace(layer(large), attributes=with_bounded_dimensions(layer(small)).attributes)
    assert bounded_dimensions(stale) == ((0, 1),)
    assert bounded_dimensions(with_bounded_dimensions(stale)) == ()
    known = with_bounded_dimensions(layer(small))
    assert with_bounded_dimensions(known) is known
    assert without_bounded_dimensions(known).attributes == layer(small).attributes


def test_keys_say_it() -> None:
    plain = layer(np.full((1, 4), 64, "int8"))
    bounded = with_bounded_dimensions(plain)
    assert canonical_text(bounded) == canonical_text(plain) + " constant 0 bounded along 1"
    other = with_bounded_dimensions(layer(np.full((1, 4), -3, "int8")))
    assert primitive_key(other) == primitive_key(bounded) != primitive_key(plain)


def test_lowered_programs_say_it_of_their_tensors() -> None:
    program = lower_function(with_bounded_dimensions(layer(np.full((1, 4), 64, "int8"))))
    ((weights, _),) = program.constants
    assert program.bounded == ((weights, 1),)


@pytest.mark.parametrize("listed", [(1, 0), (-1, 0), (0, 2), (0, -1)])
def test_what_a_primitive_has_not_cannot_be_bounded(listed: tuple[int, int]) -> None:
    own = layer(np.full((1, 4), 64, "int8"))
    wrong = replace(own, attributes={**own.attributes, "Bounded": (listed,)})
    with pytest.raises(BuildError, match=f"dimension {listed[1]} of constant {listed[0]}"):
        lower_function(wrong)


def test_numbers_are_no_constants_of_primitives() -> None:
    assert [each.data.ndim for each in constants_of(layer(np.zeros((1, 4), "int8")))] == [2]


@pytest.mark.parametrize(("most", "is_small"), [(64, True), (65, False), (-64, True), (-65, False)])
def test_elements_of_seven_bits_are_small(most: int, is_small: bool) -> None:
    assert has_small_elements(np.array([0, most], "int8")) is is_small
    assert not has_small_elements(np.array([0, most]))
