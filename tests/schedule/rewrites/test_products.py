"""Which stages are products, and of what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay_tune.schedule.rewrites.products import Product, match_product
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import convolution_program, feeds_of
from tests.schedule.products import NO_PRODUCTS, PRODUCTS, SHAPE, batched, dense


def products_of(program: TensorProgram) -> list[Product]:
    """The stages that match."""
    known: dict[Any, np.ndarray] = program.constant_arrays()
    found = (match_product(t, known) for t in tensors_in_order(program.outputs))
    return [product for product in found if product is not None]


@pytest.mark.parametrize("case", PRODUCTS)
def test_matches(case: str) -> None:
    program = PRODUCTS[case]()
    (found,) = products_of(program)
    assert found.data.tensor is program.inputs[0]
    assert found.weight.tensor is program.constants[0][0]
    assert found.rows == found.stage.axes[:-1]


@pytest.mark.parametrize("case", NO_PRODUCTS)
def test_does_not_match(case: str) -> None:
    assert products_of(NO_PRODUCTS[case]()) == []


def test_what_data_and_weights_share_is_no_row() -> None:
    (found,) = products_of(batched(32, 20, 16))
    assert [axis.extent for axis in found.shared] == [2]
    assert (
        products_of(batched(31, 20, 16)) == []
    )  # of each batch: too few uses of the weights' parts
    assert products_of(batched(32, 20, 16, constant=True)) == []


def test_steps_are_ordered_as_the_data_lie() -> None:
    (found,) = products_of(convolution_program(SHAPE, layout="OIHW"))
    assert [axis.name for axis in found.steps] == ["kh", "kw", "c"]


@pytest.mark.parametrize("layout", ["HWIO", "OIHW", "OHWI"])
def test_weights_have_one_layout(layout: str) -> None:
    program = convolution_program(SHAPE, layout=layout, kernel=(3, 2))
    ((tensor, taps),) = program.constants
    (found,) = products_of(program)
    weights = found.weights({tensor: taps})
    order = [layout.index(letter) for letter in "HWIO"]
    np.testing.assert_array_equal(weights, taps.transpose(order))


def test_a_constant_times_the_data_matches_as_well() -> None:
    x, w = input_tensor("x", (8, 32), "float32"), input_tensor("w", (32, 16), "float32")
    k = Axis("k", 32)
    y = compute("y", (8, 16), lambda i, j: reduce("sum", [k], w[k, j] * x[i, k]))
    program = TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float32)),))
    (found,) = products_of(program)
    assert (found.data.tensor, found.weight.tensor) == (x, w)


def test_few_columns_and_steps_are_a_product_too() -> None:
    (found,) = products_of(dense(8, 3, 2))
    assert [axis.extent for axis in (*found.stage.axes, *found.steps)] == [8, 2, 3]


def test_uses_are_the_rows_that_share_weights() -> None:
    (found,) = products_of(batched(40, 20, 16))
    assert found.uses == 40
    (found,) = products_of(convolution_program(SHAPE))
    assert found.uses == 6 * 5


def test_a_part_is_the_product_of_some_columns() -> None:
    program = dense(5, 7, 9)
    (found,) = products_of(program)
    part = found.part(2, 4)
    assert (part.stage.shape, part.uses) == ((5, 4), 5)
    assert set(part.stage.axes).isdisjoint(found.stage.axes)
    feeds = {**feeds_of(program), **program.constant_arrays()}
    whole, columns = evaluate([found.stage, part.stage], feeds)
    np.testing.assert_array_equal(columns, whole[:, 2:6])
