"""The parts of data and of constants, and where they lie."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.schedule.rewrites.matrix_products import weight_groups
from relay_tune.schedule.rewrites.matrix_products.float_parts import split_floats
from relay_tune.schedule.rewrites.matrix_products.form import split_floats_form
from relay_tune.schedule.rewrites.matrix_products.match import match_matrix_product
from relay_tune.schedule.rewrites.matrix_products.operands import (
    LeftOperand,
    Lines,
    rows_gathered,
    rows_in_place,
    steps_in_place,
)
from relay_tune.schedule.rewrites.matrix_products.weight_groups import groups_of
from relay_tune.schedule.rewrites.products import Product
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import convolution_program
from tests.schedule.products import dense

PARTS = {count: split_floats_form(count) for count in (1, 2, 3)}


def product_of(program: TensorProgram) -> Product:
    known: dict[Any, np.ndarray] = program.constant_arrays()
    stage = program.outputs[0]
    found = match_matrix_product(stage, known, PARTS[2])
    assert found is not None
    return found


def parts_of(operand: LeftOperand, program: TensorProgram, data: np.ndarray) -> np.ndarray:
    """The stored parts of some data, as float32."""
    (found,) = evaluate([operand.parts], {program.inputs[0]: data})
    return found.astype(np.float32)


# Parts -------------------------------------------------------------------------------------------


def test_parts_of_a_number_by_hand() -> None:
    # 1 + 2^-8 + 2^-16 + 2^-20: bfloat16 keeps 8 bits, and rounds the tie at 2^-8 to even.
    value = np.array([1 + 2**-8 + 2**-16 + 2**-20], np.float32)
    first, second, third = (part.astype(np.float64) for part in split_floats(value, 3))
    assert first[0] == 1 + 2**-7
    assert second[0] == -(2**-8) + 2**-16
    assert third[0] == 2**-20


@given(
    st.lists(
        st.floats(-(2.0**120), 2.0**120, width=32).filter(lambda x: x == 0 or abs(x) > 2.0**-90),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=100, deadline=None)
def test_parts_add_up_to_the_number(numbers: list[float]) -> None:
    values = np.array(numbers, np.float32)
    for parts, lost in ((1, 2.0**-8), (2, 2.0**-16), (3, 0.0)):
        found = split_floats(values, parts)
        assert len(found) == parts
        assert all(part.dtype == ml_dtypes.bfloat16 for part in found)
        total = sum(part.astype(np.float64) for part in found)
        assert (np.abs(total - values) <= lost * np.abs(values)).all()


# Constants ---------------------------------------------------------------------------------------


def test_pairs_of_rows_by_hand() -> None:
    weights = np.arange(40 * 32, dtype=np.float32).reshape(40, 32) / 2048  # 11 bits: two parts
    pairs = groups_of(weights, 1, PARTS[2]).astype(np.float32)
    assert pairs.shape == (2, 2, 2, 16, 16, 2)  # columns / 16, steps / 32, part, half, column, pair
    whole = pairs.sum(axis=2)
    for column, step in ((0, 0), (5, 1), (17, 30), (31, 39), (16, 32)):
        index = (column // 16, step // 32, (step % 32) // 2, column % 16, step % 2)
        assert whole[index] == weights[step, column]
    assert not pairs[:, 1, :, 4:].any()  # steps 40 to 63 are zero
    large = pairs[:, :, 0]
    assert (np.abs(pairs[:, :, 1]) <= 2**-8 * np.abs(large)).all()


def test_pairs_of_outer_steps_by_hand() -> None:
    weights = np.arange(2 * 3 * 24 * 16, dtype=np.float32).reshape(2, 3, 24, 16) % 251
    pairs = groups_of(weights, 2, PARTS[3]).astype(np.float32)
    assert pairs.shape == (1, 2, 3, 3, 16, 16, 2)
    assert not pairs[:, :, :, 1:].any()  # numbers of 8 bits have one part
    for outer, middle, inner, column in ((0, 0, 0, 0), (1, 2, 23, 15), (1, 1, 7, 3)):
        step = middle * 24 + inner
        index = (0, outer, step // 32, 0, (step % 32) // 2, column, step % 2)
        assert pairs[index] == weights[outer, middle, inner, column]


def test_groups_of_many_weights_are_made_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.random.default_rng(0).standard_normal((2, 3, 40, 80)).astype(np.float32)
    whole = groups_of(weights, 2, PARTS[3])
    for some in (1, 2 * 3 * 40 * 32):
        monkeypatch.setattr(weight_groups, "CACHED_WEIGHTS", some)
        np.testing.assert_array_equal(groups_of(weights, 2, PARTS[3]), whole)


# Data --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({}, 2),
        ({"stride": 2}, 2),
        ({"dilation": 2}, 1),
        ({"kernel": (3, 1)}, 2),
        ({"shape": (1, 4, 4, 8, 16), "kernel": (3, 4)}, 2),
        ({"shape": (1, 4, 4, 3, 16)}, 1),  # 9 steps fill no register
    ],
)
def test_steps_that_lie_beside_each_other(options: dict[str, Any], steps: int) -> None:
    program = convolution_program(**{"shape": (1, 4, 4, 32, 16), **options})
    assert steps_in_place(product_of(program), PARTS[2]) == steps


def test_the_window_of_a_row_lies_in_one_place() -> None:
    program = convolution_program((1, 2, 4, 8, 16), kernel=(3, 4))
    product = product_of(program)
    operand = rows_in_place(product, program.inputs[0], PARTS[2])
    assert operand is not None
    assert [axis.name for axis in operand.inner] == ["kw", "c"]
    assert operand.parts.shape == (2, 1, 4, 7 * 8)
    data = np.random.default_rng(0).standard_normal((1, 4, 7, 8)).astype(np.float32)
    found = parts_of(operand, program, data)
    for part, expected in enumerate(split_floats(data.reshape(1, 4, 56), 2)):
        np.testing.assert_array_equal(found[part], expected.astype(np.float32))


def test_channels_are_filled_up() -> None:
    program = convolution_program((1, 2, 2, 40, 16), dilation=2)
    operand = rows_in_place(product_of(program), program.inputs[0], PARTS[3])
    assert operand is not None
    assert operand.parts.shape == (3, 1, 6, 6, 64)
    data = np.random.default_rng(0).standard_normal((1, 6, 6, 40)).astype(np.float32)
    found = parts_of(operand, program, data)
    assert not found[..., 40:].any()
    np.testing.assert_array_equal(found[..., :40].astype(np.float64).sum(axis=0), data)


def test_windows_of_the_same_data_read_the_same_parts() -> None:
    known: Lines = {}
    data = input_tensor("x", (1, 6, 6, 32), "float32")
    for width in (1, 2):
        product = product_of(convolution_program((1, 6, 6, 32, 16), kernel=(3, width)))
        operand = rows_in_place(product, data, PARTS[2], known)
        assert operand is not None
        assert operand.parts is known[data]
    assert known[data].shape == (2, 1, 6, 6 * 32)


def test_gathered_rows_hold_their_windows() -> None:
    program = convolution_program((2, 3, 4, 5, 16), stride=2, dilation=2, kernel=(3, 2))
    operand = rows_gathered(product_of(program), program.inputs[0], PARTS[1])
    assert operand.parts.shape == (1, 2, 3, 4, 32)
    rng = np.random.default_rng(0)
    data = rng.integers(-9, 9, program.inputs[0].shape).astype(np.float32)
    found = parts_of(operand, program, data)[0]
    for n, h, w in ((0, 0, 0), (1, 2, 3), (1, 0, 2)):
        window = data[n, 2 * h : 2 * h + 5 : 2, 2 * w : 2 * w + 3 : 2]
        np.testing.assert_array_equal(found[n, h, w, :30], window.reshape(-1))
    assert not found[..., 30:].any()


def test_data_of_other_layouts_lie_nowhere_in_one_place() -> None:
    product = product_of(TensorProgram(*_columns_first()))
    assert steps_in_place(product, PARTS[2]) == 0
    assert rows_in_place(product, product.data.tensor, PARTS[2]) is None


def _columns_first() -> tuple[Any, Any, Any]:
    """x.T @ w: a step of the sum is a line of the data."""
    x, w = input_tensor("x", (32, 8), "float32"), input_tensor("w", (32, 16), "float32")
    k = Axis("k", 32)
    y = compute("y", (8, 16), lambda i, j: reduce("sum", [k], x[k, i] * w[k, j]))
    return (x,), (y,), ((w, np.ones(w.shape, np.float32)),)


def test_rows_of_a_dense_product_are_as_they_lie() -> None:
    program = dense(5, 40, 16)
    known: dict[Any, np.ndarray] = program.constant_arrays()
    stages = tensors_in_order(program.outputs)
    (product,) = filter(None, (match_matrix_product(stage, known, PARTS[2]) for stage in stages))
    operand = rows_in_place(product, program.inputs[0], PARTS[2])
    assert operand is not None
    assert operand.parts.shape == (2, 5, 64)
