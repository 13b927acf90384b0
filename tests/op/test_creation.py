import numpy as np
import pytest

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.operator import find_operator


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_zeros_and_ones(check_record, dtype):
    for name in ("zeros", "ones"):
        check_record(find_operator(name), [], {"shape": (2, 3), "dtype": dtype})
        check_record(find_operator(f"{name}_like"), [np.full((2, 3), 7, DTYPES[dtype])])


@pytest.mark.parametrize("dtype", ["", "float64", "int8"])
def test_full(check_record, dtype):
    value = np.array(2.5, "float32")
    check_record(find_operator("full"), [value], {"shape": (2, 3), "dtype": dtype})
    check_record(find_operator("full_like"), [np.zeros((4,), "int32"), value])


@pytest.mark.parametrize(
    "attributes",
    [
        {"stop": 5},
        {"start": 2, "stop": 11, "step": 3, "dtype": "int64"},
        {"start": 5, "stop": 0, "step": -2, "dtype": "int8"},
        {"start": 0.5, "stop": 2.0, "step": 0.1, "dtype": "float32"},
        {"start": 3, "stop": 3, "dtype": "int32"},
        {"stop": 4, "dtype": "bfloat16"},
    ],
)
def test_arange(check_record, attributes):
    found = check_record(find_operator("arange"), [], attributes)
    bounds = (attributes.get("start", 0), attributes["stop"], attributes.get("step", 1))
    np.testing.assert_allclose(found.astype("float64"), np.arange(*bounds), rtol=1e-6)


@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 4)])
def test_shape_and_size(check_record, random_array, shape):
    check_record(find_operator("shape_of"), [random_array(shape)], {"dtype": "int64"})
    check_record(find_operator("ndarray_size"), [random_array(shape)])
