from __future__ import annotations

import numpy as np
import pytest

from relay_tune.op.nn.space_batch import batch_to_space_nd, dilate, space_to_batch_nd


@pytest.mark.parametrize(
    "shape, blocks, pairs",
    [
        ((2, 4, 6, 3), (2, 3), ((0, 0), (0, 0))),
        ((1, 3, 5, 2), (2, 2), ((1, 0), (0, 1))),
        ((2, 5, 3), (3,), ((0, 1),)),
    ],
)
def test_there_and_back(check_record, random_array, shape, blocks, pairs):
    data = random_array(shape)
    spread = check_record(
        space_to_batch_nd,
        [data],
        {"block_shape": blocks, "paddings": pairs, "pad_value": 2.0},
    )
    assert spread.shape[0] == shape[0] * np.prod(blocks)
    back = check_record(batch_to_space_nd, [spread], {"block_shape": blocks, "crops": pairs})
    np.testing.assert_array_equal(back, data)


def test_blocks_become_samples(check_record):
    data = np.arange(4.0, dtype="float32").reshape(1, 2, 2, 1)
    attributes = {"block_shape": (2, 2), "paddings": ((0, 0), (0, 0))}
    found = check_record(space_to_batch_nd, [data], attributes)
    np.testing.assert_array_equal(found.reshape(-1), [0, 1, 2, 3])


def test_dilate(check_record):
    data = np.array([[1, 2], [3, 4]], "float32")
    found = check_record(dilate, [data], {"strides": (2, 3), "dilation_value": 9.0})
    np.testing.assert_array_equal(found, [[1, 9, 9, 2], [9, 9, 9, 9], [3, 9, 9, 4]])
