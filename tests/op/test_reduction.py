import numpy as np
import pytest

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Var
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.op.reduction import variance

NAMES = "sum prod max min mean".split()
AXES = [
    {},
    {"axis": 1},
    {"axis": -1, "keepdims": True},
    {"axis": (0, 2)},
    {"axis": (2, 0), "keepdims": True},
    {"axis": 1, "exclude": True},
    {"axis": ()},
    {"keepdims": True},
]


def tolerance(dtype: str) -> float:
    return {"float16": 5e-3, "bfloat16": 3e-2}.get(dtype, 1e-5)


@pytest.mark.parametrize("attributes", AXES)
@pytest.mark.parametrize("name", NAMES + ["argmax", "argmin"])
def test_axes(check_record, random_array, name, attributes):
    check_record(find_operator(name), [random_array((3, 4, 5))], attributes)
    check_record(find_operator(name), [random_array((3, 1, 5))], attributes)


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "bool"])
@pytest.mark.parametrize("name", NAMES)
def test_element_types(check_record, random_array, name, dtype):
    data = random_array((3, 7), "int8").astype(DTYPES[dtype])
    check_record(find_operator(name), [data], {"axis": 1}, tolerance(dtype))


def test_short_floats_are_summed_as_float32(check_record):
    data = np.full((4096,), 0.1, "float16")
    result = check_record(find_operator("sum"), [data], tolerance=1e-3)
    np.testing.assert_allclose(result.astype("float64"), 409.4, rtol=1e-3)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
@pytest.mark.parametrize("name", ["all", "any"])
def test_truth(check_record, name, dtype):
    data = np.array([[0, 0], [0, 2], [1, 2]]).astype(dtype)
    check_record(find_operator(name), [data], {"axis": 1})


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_or_last_of_equal_elements(check_record, name, last):
    data = np.array([[1, 3, 3, 1], [2, 2, 2, 2]], "int32")
    attributes = {"axis": 1, "select_last_index": last}
    result = check_record(find_operator(name), [data], attributes)
    first = {"argmax": [1, 0], "argmin": [0, 0]}
    final = {"argmax": [2, 3], "argmin": [3, 3]}
    assert result.tolist() == (final if last else first)[name]


def test_argmax_of_nan_stays_inside(check_record):
    data = np.array([[1, np.nan, 3], [np.nan] * 3, [-np.inf] * 3], "float32")
    check_record(find_operator("argmax"), [data], {"axis": 1})


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("axes", [{"axis": 1}, {"axis": (0, 2), "keepdims": True}])
def test_variance(check_record, random_array, axes, unbiased):
    data = random_array((3, 4, 5))
    mean = data.mean(axis=axes["axis"], keepdims=True)
    attributes = axes | {"unbiased": unbiased}
    result = check_record(find_operator("variance"), [data, mean], attributes)
    expected = np.var(
        data, axis=axes["axis"], keepdims=axes.get("keepdims", False), ddof=int(unbiased)
    )
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_variance_makes_the_mean_itself():
    call = variance(Var("x", TensorType((2, 3), "float32")), axis=1)
    mean = call.arguments[1]
    assert mean.callee.name == "mean"
    assert mean.attributes.keepdims


@pytest.mark.parametrize("target", [(3, 1, 5), (4, 1), (1,), (), (1, 4, 1), (2, 3, 4, 5)])
def test_collapse_sum(check_record, random_array, target):
    data = random_array((2, 3, 4, 5))
    check_record(find_operator("collapse_sum_to"), [data], {"shape": target})
    check_record(find_operator("collapse_sum_like"), [data, np.zeros(target, "int8")])
