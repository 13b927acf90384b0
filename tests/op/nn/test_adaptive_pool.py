from __future__ import annotations

import numpy as np
import pytest

from relay_tune.ir.types import TensorType
from relay_tune.op.layout_arrays import as_stored, as_whole
from relay_tune.op.nn import adaptive_pool
from relay_tune.op.nn.adaptive_pool import adaptive_avg_pool1d, adaptive_avg_pool2d
from relay_tune.tensor.expression import Load, Reduce
from relay_tune.tensor.tensor import Computed, input_tensor


def _plain(data, sizes, function):
    """The definition, element by element."""
    result = np.empty((*data.shape[:2], *sizes), data.dtype)
    for position in np.ndindex(*sizes):
        window = tuple(
            slice(int(np.floor(i * n / m)), int(np.ceil((i + 1) * n / m)))
            for i, n, m in zip(position, data.shape[2:], sizes, strict=True)
        )
        axes = tuple(range(2, data.ndim))
        result[(..., *position)] = function(data[(..., *window)], axis=axes)
    return result


@pytest.mark.parametrize("word, function", [("max", np.max), ("avg", np.mean)])
@pytest.mark.parametrize(
    "shape, sizes",
    [
        ((2, 3, 10), (3,)),
        ((2, 3, 5), (7,)),
        ((1, 2, 6, 7), (3, 1)),
        ((1, 2, 6, 7), (4, 5)),
        ((1, 2, 3, 4, 5), (2, 4, 3)),
    ],
)
def test_adaptive_pool(check_record, random_array, word, function, shape, sizes):
    data = random_array(shape)
    operator = getattr(adaptive_pool, f"adaptive_{word}_pool{len(sizes)}d")
    found = check_record(operator, [data], {"output_size": sizes})
    np.testing.assert_allclose(found, _plain(data, sizes, function), 1e-5, 1e-6)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW4c"])
def test_layouts_agree_with_plain_layout(check_record, random_array, layout):
    data = random_array((2, 8, 5, 6))
    stored = as_stored(data, "NCHW", layout)
    attributes = {"output_size": (2, 4)}
    found = check_record(adaptive_avg_pool2d, [stored], {**attributes, "layout": layout})
    expected = check_record(adaptive_avg_pool2d, [data], attributes)
    np.testing.assert_allclose(as_whole(found, layout, "NCHW"), expected, 1e-5, 1e-6)


def test_without_a_size_nothing_changes(check_record, random_array):
    data = random_array((1, 2, 3))
    np.testing.assert_array_equal(check_record(adaptive_avg_pool1d, [data]), data)


def test_a_size_that_divides_makes_an_ordinary_pool():
    data = input_tensor("x", (1, 2, 6), "float32")
    record = adaptive_avg_pool1d.attributes(output_size=(3,))
    (result,) = adaptive_avg_pool1d.compute(record, [data], [TensorType((1, 2, 3), "float32")])
    windows = result.body.left.tensor
    assert isinstance(windows, Computed) and isinstance(windows.body, Reduce)
    assert isinstance(windows.body.body, Load)
