from __future__ import annotations

import numpy as np
import pytest

from relay_tune.ir.types import TensorType
from relay_tune.op.nn.matmul import batch_matmul, dense, matmul
from relay_tune.tensor.expression import Literal, Reduce
from relay_tune.tensor.tensor import Computed, input_tensor


@pytest.mark.parametrize(
    "data, weight", [((3, 5), (4, 5)), ((2, 3, 5), (4, 5)), ((5,), (4, 5)), ((1, 1), (3, 1))]
)
def test_dense(check_record, random_array, data, weight):
    arrays = [random_array(data), random_array(weight)]
    found = check_record(dense, arrays)
    np.testing.assert_allclose(found, arrays[0] @ arrays[1].T, 1e-5, 1e-5)


def test_sums_of_integers_wrap_around(check_record):
    data, weight = np.full((3, 6), -32768, np.int16), np.full((4, 6), -32768, np.int16)
    weight[0, 0] = 1
    found = check_record(dense, [data, weight], {"out_dtype": "int32"})
    exact = data.astype(np.int64) @ weight.T.astype(np.int64)
    np.testing.assert_array_equal(found, exact.astype(np.int32))


@pytest.mark.parametrize("swap_a", [False, True])
@pytest.mark.parametrize("swap_b", [False, True])
def test_matmul_with_transposed_factors(check_record, random_array, swap_a, swap_b):
    left, right = random_array((3, 5)), random_array((5, 4))
    arrays = [left.T.copy() if swap_a else left, right.T.copy() if swap_b else right]
    found = check_record(matmul, arrays, {"transpose_a": swap_a, "transpose_b": swap_b})
    np.testing.assert_allclose(found, left @ right, 1e-5, 1e-5)


@pytest.mark.parametrize(
    "left, right",
    [
        ((2, 3, 5), (2, 4, 5)),
        ((2, 3, 5), (1, 4, 5)),
        ((3, 5), (2, 4, 5)),
        ((2, 1, 3, 5), (7, 4, 5)),
        ((1, 1, 1), (1, 1, 1)),
    ],
)
def test_batch_matmul_broadcasts_leading_axes(check_record, random_array, left, right):
    arrays = [random_array(left), random_array(right)]
    found = check_record(batch_matmul, arrays)
    np.testing.assert_allclose(found, arrays[0] @ arrays[1].swapaxes(-1, -2), 1e-5, 1e-5)


def test_batch_matmul_with_transposed_first_factor(check_record, random_array):
    arrays = [random_array((2, 5, 3)), random_array((2, 5, 4))]
    found = check_record(batch_matmul, arrays, {"transpose_a": True, "transpose_b": False})
    np.testing.assert_allclose(found, arrays[0].swapaxes(1, 2) @ arrays[1], 1e-5, 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_floats_keep_their_type(check_record, random_array, dtype):
    check_record(dense, [random_array((3, 50), dtype), random_array((2, 50), dtype)], {}, 2e-2)


def test_bytes_are_summed_in_out_dtype(check_record):
    arrays = [np.full((1, 100), 100, "int8"), np.full((1, 100), -100, "int8")]
    assert check_record(dense, arrays, {"out_dtype": "int32"}).item() == -1_000_000


def test_the_computation_is_one_reduction_and_broadcast_axes_are_read_at_0():
    inputs = [input_tensor("a", (2, 3, 5), "float32"), input_tensor("b", (1, 5, 4), "float32")]
    record = batch_matmul.attributes(transpose_b=False)
    (result,) = batch_matmul.compute(record, inputs, [TensorType((2, 3, 4), "float32")])
    assert isinstance(result, Computed) and isinstance(result.body, Reduce)
    assert [axis.name for axis in result.body.axes] == ["k"]
    assert isinstance(result.body.body.right.indices[0], Literal)
