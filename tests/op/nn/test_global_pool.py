from __future__ import annotations

import numpy as np
import pytest

from relay_tune.ir.operator import find_operator
from relay_tune.op.layout_arrays import as_stored, as_whole
from relay_tune.op.nn import global_pool


@pytest.mark.parametrize(
    "word, onnx_name", [("max", "GlobalMaxPool"), ("avg", "GlobalAveragePool")]
)
@pytest.mark.parametrize("shape", [(2, 3, 7), (2, 3, 4, 5), (1, 2, 3, 4, 5)])
def test_global_pool_agrees_with_onnxruntime(
    check_record, run_onnx, random_array, word, onnx_name, shape
):
    data = random_array(shape)
    operator = getattr(global_pool, f"global_{word}_pool{len(shape) - 2}d")
    assert find_operator(operator.name) is operator
    found = check_record(operator, [data])
    np.testing.assert_allclose(found, run_onnx(onnx_name, [data]), 1e-5, 1e-6)


@pytest.mark.parametrize("word", ["max", "avg"])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW4c"])
def test_layouts_agree_with_plain_layout(check_record, random_array, word, layout):
    data = random_array((2, 8, 4, 5))
    operator = getattr(global_pool, f"global_{word}_pool2d")
    found = check_record(operator, [as_stored(data, "NCHW", layout)], {"layout": layout})
    expected = check_record(operator, [data])
    np.testing.assert_allclose(as_whole(found, layout, "NCHW"), expected, 1e-5, 1e-6)


def test_average_of_many_short_floats(check_record):
    data = np.full((1, 1, 100, 100), 3, "float16")
    assert check_record(global_pool.global_avg_pool2d, [data]).item() == 3
