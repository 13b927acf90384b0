"""The loop nests of common computations: which axes remain."""

import numpy as np

from relay_tune.codegen.target import native_target
from relay_tune.tensor.expression import (
    binary,
    cast,
    select,
    unary,
)
from relay_tune.tensor.tensor import compute, input_tensor
from tests.run_tensors import run_tensors
from tests.schedule.example_nests import attention_scores, convolution, nests_of, relu, shape_of


def test_pointwise_convolution_is_a_matrix_product():
    (nest,) = nests_of(convolution(1))
    assert shape_of(nest) == ([2 * 8 * 10, 24], [16])


def test_a_window_row_and_the_channels_are_one_reduction_axis():
    (nest,) = nests_of(convolution(3))
    assert shape_of(nest) == ([2, 6, 8, 24], [3, 3 * 16])


def test_elementwise_with_the_same_shapes_is_one_loop():
    a, b = (input_tensor(name, (2, 3, 4, 5), "float32") for name in "ab")
    (nest,) = nests_of(relu(compute("sum", a.shape, lambda *at: a[at] + b[at])))
    assert shape_of(nest) == ([120], [])


def test_a_broadcast_bias_keeps_its_axis():
    a, bias = input_tensor("a", (2, 3, 4, 5), "float32"), input_tensor("b", (3, 1, 1), "float32")
    (nest,) = nests_of(compute("s", a.shape, lambda i, j, k, m: a[i, j, k, m] + bias[j, 0, 0]))
    assert shape_of(nest) == ([2, 3, 20], [])


def test_unit_axes_disappear():
    a = input_tensor("a", (1, 7, 1), "float32")
    (nest,) = nests_of(relu(a))
    assert shape_of(nest) == ([7], [])
    (single,) = nests_of(relu(input_tensor("s", (1, 1), "float32")))
    assert shape_of(single) == ([], [])


def test_batched_product_of_heads():
    (nest,) = nests_of(attention_scores(epilogue=False))
    assert shape_of(nest) == ([4, 12, 12], [8])


def test_converted_indices_keep_their_axes_apart():
    columns = compute("columns", (3, 4), lambda i, j: cast(j, "float32") + cast(i, "float32") * 9.0)
    (found,) = run_tensors([columns], {}, [], native_target())
    np.testing.assert_array_equal(found, np.arange(4) + 9.0 * np.arange(3)[:, None])


def test_an_empty_tensor_needs_no_nest():
    assert nests_of(relu(input_tensor("x", (3, 0), "float32"))) == ()


def test_the_same_output_twice_is_copied():
    x = input_tensor("x", (4,), "float32")
    y = compute("y", (4,), lambda i: unary("neg", x[i]))
    found = run_tensors([y, y, x], {x: np.arange(4, dtype="float32")}, [], native_target())
    for array, sign in zip(found, (-1, -1, 1), strict=True):
        np.testing.assert_array_equal(array, sign * np.arange(4))


def filled(x, width):
    """The columns of a matrix, and zeros behind them."""
    rows, size = x.shape
    return compute("filled", (rows, width), lambda i, j: select(binary("lt", j, size), x[i, j], 0))


def test_short_rows_are_written_as_a_whole():
    x = input_tensor("x", (100, 3), "uint8")
    result = filled(x, 4)
    (nest,) = nests_of(result)
    assert shape_of(nest) == ([100, 4], [])
    data = np.arange(300, dtype=np.uint8).reshape(100, 3)
    (found,) = run_tensors([result], {x: data}, [], native_target())
    np.testing.assert_array_equal(found, np.pad(data, ((0, 0), (0, 1))))


def test_the_parts_of_long_rows_are_written_apart():
    assert len(nests_of(filled(input_tensor("x", (100, 30), "uint8"), 32))) == 2
