"""Which stages are products with constants that matrix registers can compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay_tune.schedule.rewrites.matrix_products.form import split_floats_form
from relay_tune.schedule.rewrites.matrix_products.match import match_matrix_product, whole_columns
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BF16X6
from relay_tune.schedule.rewrites.matrix_products.stages import (
    matrix_program,
    multiplications,
    ways_to_gather,
)
from relay_tune.schedule.rewrites.products import Product
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, binary, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import convolution_program, feeds_of
from tests.schedule.offered import matrix_products
from tests.schedule.products import (
    NO_PRODUCTS,
    PRODUCTS,
    SHAPE,
    batched,
    convolution,
    dense,
    product,
    transposed_twice,
)

FORM = split_floats_form(2)

OPEN = "open rows"
"""No product elsewhere; a register may have any number of rows."""

DIFFERS = {
    **{case: program for case, program in NO_PRODUCTS.items() if case != OPEN},
    "8 columns": convolution(shape=(1, 6, 5, 32, 8)),
    "fifteen steps": product(8, 15, 16),
}


def products_of(program: TensorProgram) -> list[Product]:
    """The stages that match."""
    known: dict[Any, np.ndarray] = program.constant_arrays()
    found = (match_matrix_product(t, known, FORM) for t in tensors_in_order(program.outputs))
    return [product for product in found if product is not None]


@pytest.mark.parametrize("case", PRODUCTS)
def test_matches(case: str) -> None:
    program = PRODUCTS[case]()
    assert len(products_of(program)) == 1
    assert {BF16X3(), BF16X6()} <= set(matrix_products(program))


def test_the_number_of_rows_may_be_open() -> None:
    program = NO_PRODUCTS[OPEN]()
    assert len(products_of(program)) == 1
    assert multiplications(program, FORM) == 8 * 32 * 16  # in the example
    assert matrix_products(program)


@pytest.mark.parametrize("case", DIFFERS)
def test_does_not_match(case: str) -> None:
    program = DIFFERS[case]()
    assert products_of(program) == []
    assert multiplications(program, FORM) == 0
    assert ways_to_gather(program, FORM) == ()
    assert matrix_program(program, FORM, gathers=False) is None
    assert not matrix_products(program)


WITHOUT_CONSTANTS: dict[str, Callable[[], TensorProgram]] = {
    "two tensors": product(32, 40, 48, constant=False),
    "weights by columns": product(33, 64, 16, constant=False, transposed=True),
    "both the other way round": transposed_twice,
    "a batch": lambda: batched(32, 20, 16),
    "a convolution": convolution(shape=(1, 6, 6, 5, 16), constant=False),
    "taps of other layout": convolution(constant=False, layout="OIHW", shape=(1, 4, 8, 33, 16)),
}


@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize(("parts", "bound"), [(2, 1e-5), (3, 1e-6)])
@pytest.mark.parametrize("case", WITHOUT_CONSTANTS)
def test_weights_may_be_known_at_run_time_only(
    case: str, parts: int, bound: float, gathers: bool
) -> None:
    program = WITHOUT_CONSTANTS[case]()
    (found,) = products_of(program)
    assert {found.data.tensor, found.weight.tensor} == set(program.inputs)
    changed = matrix_program(program, split_floats_form(parts), gathers)
    assert changed is not None and not changed.constants
    feeds = feeds_of(program)
    (result,) = evaluate(changed.outputs, feeds)
    (expected,) = evaluate(program.outputs, feeds)
    assert np.abs(result - expected).max() <= bound * np.abs(expected).max()


def test_columns_that_fill_registers() -> None:
    (found,) = products_of(dense(8, 64, 1000))
    assert whole_columns(found, FORM) == 992
    (found,) = products_of(dense(8, 64, 48))
    assert whole_columns(found, FORM) == 48


def test_multiplications_are_counted() -> None:
    assert multiplications(dense(8, 40, 32), FORM) == 8 * 40 * 32
    assert (
        multiplications(convolution_program(SHAPE, kernel=(3, 2)), FORM) == 6 * 5 * 16 * 3 * 2 * 32
    )


def test_a_program_may_hold_several() -> None:
    x = input_tensor("x", (8, 32), "float32")
    first, second = (input_tensor(name, (32, 32), "float32") for name in ("v", "w"))
    k, m = Axis("k", 32), Axis("m", 32)
    y = compute("y", (8, 32), lambda i, j: reduce("sum", [k], x[i, k] * first[k, j]))
    y = compute("relu", y.shape, lambda *at, y=y: binary("max", y[at], 0.0))
    z = compute("z", (8, 32), lambda i, j: reduce("sum", [m], y[i, m] * second[m, j]))
    ones = np.ones((32, 32), np.float32)
    program = TensorProgram((x,), (z,), ((first, ones), (second, ones)))
    assert [found.stage.name for found in products_of(program)] == ["y", "z"]
    changed = matrix_program(program, split_floats_form(3), gathers=False)
    assert changed is not None
    assert [tensor.name for tensor, _ in changed.constants] == ["v_groups", "w_groups"]


@pytest.mark.parametrize(
    ("program", "ways"),
    [
        (dense(8, 64, 16), (False,)),
        (convolution_program(SHAPE), (False, True)),
        (convolution_program(SHAPE, kernel=(1, 3)), (False, True)),
        (convolution_program(SHAPE, kernel=(1, 1)), (False,)),
        (convolution_program(SHAPE, kernel=(1, 1), stride=2), (False, True)),
        (batched(32, 20, 16), (False,)),
    ],
)
def test_gathering_is_offered_where_it_differs(
    program: TensorProgram, ways: tuple[bool, ...]
) -> None:
    assert ways_to_gather(program, FORM) == ways
