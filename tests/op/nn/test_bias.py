from __future__ import annotations

import numpy as np
import pytest

from relay_tune.op.nn.bias import batch_flatten, bias_add


@pytest.mark.parametrize("axis", [1, 2, -1, -3])
def test_bias_add(check_record, random_array, axis):
    data = random_array((2, 3, 4))
    bias = random_array((data.shape[axis],))
    found = check_record(bias_add, [data, bias], {"axis": axis})
    moved = np.moveaxis(np.moveaxis(data, axis, -1) + bias, -1, axis)
    np.testing.assert_array_equal(found, moved)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3), (1, 3, 1, 2), (3, 1, 1)])
def test_batch_flatten(check_record, random_array, shape):
    data = random_array(shape)
    found = check_record(batch_flatten, [data])
    np.testing.assert_array_equal(found, data.reshape(shape[0], -1))
