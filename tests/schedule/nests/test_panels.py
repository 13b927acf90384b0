"""Which operands are copied into panels, and that the product stays right."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.ir.dim import Symbol
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Tensor, binary, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import Computed, compute, input_tensor
from tests.run_tensors import run_tensors
from tests.schedule.machines import core, with_rates


def product(left: Tensor, right: Tensor, *, transposed: bool) -> Computed:
    rows, depth = left.shape
    columns = right.shape[0] if transposed else right.shape[1]
    k = Axis("k", depth)
    return compute(
        "product",
        (rows, columns),
        lambda i, j: reduce("sum", [k], left[i, k] * (right[j, k] if transposed else right[k, j])),
    )


def stage_names(rows: int, columns: int, depth: int, *, transposed: bool, constant: bool) -> list:
    left = input_tensor("left", (rows, depth), "float32")
    shape = (columns, depth) if transposed else (depth, columns)
    right = input_tensor("right", shape, "float32")
    result = product(left, right, transposed=transposed)
    data = ((right, np.zeros(shape, "float32")),) if constant else ()
    inputs = (left,) if constant else (left, right)
    return [nest.name for nest in plan_program(TensorProgram(inputs, (result,), data)).nests]


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "transposed", "constant", "copied"),
    [
        (256, 256, 256, False, False, True),
        (64, 128, 64, True, False, True),
        (64, 64, 32, False, False, False),  # stays in the first cache
        (8, 256, 256, False, False, False),  # used too rarely
        (256, 90, 256, False, False, False),  # no width divides 90
        (256, 90, 256, True, False, True),  # in one panel, since columns lie apart
        (256, 64, 256, False, False, False),  # is one panel already
        (256, 256, 256, False, True, False),  # packed when it is built
    ],
)
def test_copies(rows, columns, depth, transposed, constant, copied):
    names = stage_names(rows, columns, depth, transposed=transposed, constant=constant)
    assert names == (["right_panel", "product"] if copied else ["product"])


@pytest.mark.parametrize(("columns", "apart"), [(90, 96), (49, 64), (127, 144), (33, 48)])
def test_rows_of_a_panel_begin_with_lines(columns, apart):
    """127 columns take 8 lines; rows so far apart would share sets of L1."""
    left = input_tensor("left", (64, 70), "float32")
    right = input_tensor("right", (columns, 70), "float32")
    scores, j = product(left, right, transposed=True), Axis("j", columns)
    total = compute("total", (64,), lambda i: reduce("sum", [j], scores[i, j]))
    result = compute("result", scores.shape, lambda i, j: scores[i, j] * total[i])
    plan = plan_program(TensorProgram((left, right), (result,), ()))
    panel = next(nest for nest in plan.nests if nest.name == "right_panel")
    form = axis_affine(panel.index)
    assert form is not None and max(form.terms.values()) == apart
    rng = np.random.default_rng(5)
    feeds = {x: rng.standard_normal(x.shape).astype("float32") for x in (left, right)}
    (expected,) = evaluate([result], feeds)
    (found,) = run_tensors([result], feeds, [], native_target())
    np.testing.assert_allclose(found, expected, 1e-4, 1e-3)


@pytest.mark.parametrize("transposed", [False, True])
def test_open_columns_are_copied_where_they_lie_apart(transposed):
    columns = symbolic_size(Symbol("n"), 200)
    names = stage_names(64, columns, 64, transposed=transposed, constant=False)
    assert names == (["right_panel", "product"] if transposed else ["product"])


@pytest.mark.parametrize("columns", [31, 64, 65])
def test_open_columns_that_stages_read_are_in_panels_of_known_width(columns):
    open_columns = symbolic_size(Symbol("n"), columns)
    left = input_tensor("left", (64, 48), "float32")
    right = input_tensor("right", (open_columns, 48), "float32")
    scores, j = product(left, right, transposed=True), Axis("j", open_columns)
    total = compute("total", (64,), lambda i: reduce("sum", [j], scores[i, j]))
    result = compute("result", scores.shape, lambda i, j: scores[i, j] * total[i])
    plan = plan_program(TensorProgram((left, right), (result,), ()))
    panel = next(nest for nest in plan.nests if nest.name == "right_panel")
    form = axis_affine(panel.index)
    assert form is not None and sorted(form.terms.values()) == [1, 32, 48 * 32]


def test_a_product_that_is_a_result_too_keeps_its_shape():
    open_columns = symbolic_size(Symbol("n"), 65)
    left = input_tensor("left", (64, 48), "float32")
    right = input_tensor("right", (open_columns, 48), "float32")
    scores, j = product(left, right, transposed=True), Axis("j", open_columns)
    total = compute("total", (64,), lambda i: reduce("sum", [j], scores[i, j]))
    plan = plan_program(TensorProgram((left, right), (scores, total), ()))
    (nest,) = (each for each in plan.nests if each.name == "product")
    assert nest.target.viewed is scores


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("rows", "columns", "depth"),
    [(33, 96, 130), (64, 128, 64), (40, 48, 300), (40, 127, 90), (64, 100, 96)],
)
def test_product_is_right(rows, columns, depth, transposed):
    generator = np.random.default_rng(3)
    shape = (columns, depth) if transposed else (depth, columns)
    left = input_tensor("left", (rows, depth), "float32")
    right = input_tensor("right", shape, "float32")
    feeds = {
        left: generator.standard_normal((rows, depth)).astype("float32"),
        right: generator.standard_normal(shape).astype("float32"),
    }
    result = product(left, right, transposed=transposed)
    (expected,) = evaluate([result], feeds)
    (found,) = run_tensors([result], feeds, [], native_target())
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


def test_columns_that_no_width_divides_are_computed_in_two_parts():
    names = stage_names(256, 250, 256, transposed=False, constant=False)
    assert sorted(names) == ["product", "product", "right_panel", "right_panel"]


def test_the_reader_of_two_parts_takes_them_in():
    left = input_tensor("left", (64, 80), "float32")
    right = input_tensor("right", (80, 150), "float32")
    result = product(left, right, transposed=False)
    relu = compute("relu", (150, 64), lambda i, j: binary("max", result[j, i], 0.0))
    plan = plan_program(TensorProgram((left, right), (relu,), ()))
    computed = [nest for nest in plan.nests if nest.name == "relu"]
    assert [nest.reduction[0].extent for nest in computed] == [80, 80]
    assert not any(nest.name == "product" for nest in plan.nests)
    rng = np.random.default_rng(4)
    feeds = {x: rng.standard_normal(x.shape).astype("float32") for x in (left, right)}
    (expected,) = evaluate([relu], feeds)
    (found,) = run_tensors([relu], feeds, [], native_target())
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


def test_image_to_columns_is_no_panel():
    data = input_tensor("data", (64, 66, 64), "float32")
    weight = input_tensor("weight", (64, 64, 3), "float32")
    c, t = Axis("c", 64), Axis("t", 3)
    result = compute(
        "convolution",
        (64, 64, 64),
        lambda o, h, w: reduce("sum", [c, t], data[c, h + t, w] * weight[o, c, t]),
    )
    plan = plan_program(TensorProgram((data, weight), (result,), ()))
    assert [nest.name for nest in plan.nests] == ["convolution"]


def test_rows_are_copied_as_they_lie_and_whole_panels_are_read():
    left = input_tensor("left", (1024, 1024), "float32")
    right = input_tensor("right", (1024, 1024), "float32")
    program = TensorProgram((left, right), (product(left, right, transposed=False),), ())
    # a server core whose third cache is far away
    bandwidth = (90.0, 45.0, 8.0, 4.0)
    machine = with_rates(core(64, 32), bandwidth)
    copy, multiply = plan_program(program).default_under_algorithm(machine, 1)[1].choices
    assert copy.order == (1, 0, 2)  # (panel, row, column): the rows outside
    assert multiply.tile[1:] == (1, 64)  # one panel, all of its columns
    assert multiply.prefetch


def test_tiles_of_short_vectors_read_whole_lines_of_one_panel():
    left = input_tensor("left", (1024, 1600), "float32")
    right = input_tensor("right", (1600, 512), "float32")
    program = TensorProgram((left, right), (product(left, right, transposed=False),), ())
    multiply = plan_program(program).default_under_algorithm(core(32, 16), 1)[1].choices[-1]
    panels, columns = multiply.tile[1:]
    assert (panels, columns * 4 % 64) == (1, 0)
