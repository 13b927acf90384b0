"""Which operands are copied so that their steps lie in a line, and that the product stays right."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, Tensor, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Computed, compute, input_tensor
from tests.run_tensors import run_tensors


def _product(left: Tensor, right: Tensor) -> Computed:
    k = Axis("k", left.shape[0])
    shape = (left.shape[1], right.shape[1])
    return compute("product", shape, lambda i, j: reduce("sum", [k], left[k, i] * right[k, j]))


def _program(steps: int, rows: int, columns: int, *, constant: bool = False) -> TensorProgram:
    left = input_tensor("left", (steps, rows), "float32")
    right = input_tensor("right", (steps, columns), "float32")
    data = ((left, np.zeros(left.shape, "float32")),) if constant else ()
    inputs = (right,) if constant else (left, right)
    return TensorProgram(inputs, (_product(left, right),), data)


def _names(program: TensorProgram) -> set[str]:
    return {nest.name for nest in plan_program(program).nests}


@pytest.mark.parametrize(
    ("steps", "rows", "columns", "copied"),
    [
        (128, 1024, 256, True),
        (128, 2048, 256, True),
        (128, 1024, 250, False),  # used too rarely
        (64, 1024, 256, False),  # the lines stay in the second cache
        (128, 1000, 256, False),  # and so they do where steps are no whole pages apart
        (128, 512, 256, False),
    ],
)
def test_copies(steps: int, rows: int, columns: int, copied: bool) -> None:
    assert ("left_rows" in _names(_program(steps, rows, columns))) == copied


def test_constants_are_not_copied_at_run_time() -> None:
    assert "left_rows" not in _names(_program(128, 1024, 256, constant=True))


def test_rows_that_lie_in_a_line_stay() -> None:
    left = input_tensor("left", (256, 1024), "float32")
    right = input_tensor("right", (1024, 256), "float32")
    k = Axis("k", 1024)
    result = compute(
        "product", (256, 256), lambda i, j: reduce("sum", [k], left[i, k] * right[k, j])
    )
    assert "left_rows" not in _names(TensorProgram((left, right), (result,), ()))


def test_products_of_copies_are_right() -> None:
    program = _program(130, 1024, 272)
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, each.shape).astype("float32") for each in program.inputs]
    feeds = dict(zip(program.inputs, arrays, strict=True))
    (found,) = run_tensors(program.outputs, feeds, (), native_target())
    np.testing.assert_array_equal(found, arrays[0].T @ arrays[1])
