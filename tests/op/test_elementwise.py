"""Element-by-element operators: the computation agrees with numpy for every element type."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.op.arithmetic import add
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.tensor import input_tensor

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = [name for name in DTYPES if "int" in name]
NUMBERS = FLOATS + INTEGERS

ARITHMETIC = "add subtract multiply divide power maximum minimum".split()
DIVISION = "floor_divide trunc_divide mod floor_mod trunc_mod".split()
COMPARISON = "equal not_equal less less_equal greater greater_equal".split()
BITS = "bitwise_and bitwise_or bitwise_xor left_shift right_shift".split()
FUNCTIONS = (
    "exp log log2 log10 log1p sqrt rsqrt sigmoid tanh erf sin cos tan asin acos atan sinh cosh "
    "asinh acosh atanh fast_exp fast_tanh fast_erf"
).split()
ROUNDING = "negative abs sign floor ceil trunc round isnan isinf isfinite copy".split()


def tolerance(dtype: str) -> float:
    return {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-5)


def numbers(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Pairs with both signs, equal numbers, zero divisors of integers, and the extremes."""
    left = np.array([7, -7, 7, -7, 6, 0, 5, 1, -1, 3])
    right = np.array([3, 3, -3, -3, 3, 4, 5, -2, -3, 0])
    if "float" in dtype:
        right[-1] = 2
        return left.astype(DTYPES[dtype]) + DTYPES[dtype].type(0.5), right.astype(DTYPES[dtype])
    limits = np.iinfo(dtype)
    left[-2] = limits.max if limits.bits < 64 else 1
    return left.astype(dtype), right.astype(dtype)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", ARITHMETIC + DIVISION + COMPARISON)
def test_numbers(check_record, name, dtype):
    check_record(find_operator(name), numbers(dtype), tolerance=tolerance(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", BITS)
def test_bits(check_record, name, dtype):
    check_record(find_operator(name), numbers(dtype))


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, -1])
@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
def test_shift_counts_that_are_no_bit_position(check_record, name, count):
    values = np.array([-5, 5, 2**31 - 1, -(2**31)], "int32")
    check_record(find_operator(name), [values, np.full(4, count, "int32")])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(check_record, name, dtype):
    data = np.linspace(-2.0, 2.0, 17).astype(DTYPES[dtype])
    check_record(find_operator(name), [data], tolerance=tolerance(dtype))


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", ROUNDING)
def test_rounding_and_sign(check_record, name, dtype):
    data = np.array([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.0, 2.7])
    if "float" in dtype:
        data = np.append(data, [np.inf, -np.inf, np.nan])
    if dtype.startswith("u"):
        data = np.abs(data)
    check_record(find_operator(name), [data.astype(DTYPES[dtype])])


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic(check_record, name):
    values = np.array([False, True])
    check_record(find_operator(name), [values[:, None], values])


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_logical_not(check_record, dtype):
    check_record(find_operator("logical_not"), [np.array([0, 1, 2]).astype(dtype)])


def test_bitwise_not(check_record):
    check_record(find_operator("bitwise_not"), [np.array([0, 1, 255], "uint8")])


@pytest.mark.parametrize("target", list(DTYPES))
@pytest.mark.parametrize("source", list(DTYPES))
def test_cast(check_record, source, target):
    data = np.array([0, 1, 2.7, 100]).astype(DTYPES[source])
    check_record(find_operator("cast"), [data], {"dtype": target})
    check_record(find_operator("cast_like"), [data, np.zeros(2, DTYPES[target])])


@pytest.mark.parametrize("dtype", FLOATS)
def test_clip_floats(check_record, dtype):
    data = np.array([-2, 0.25, 0.75, 9, np.nan]).astype(DTYPES[dtype])
    check_record(find_operator("clip"), [data], {"a_min": 0.0, "a_max": 0.5})


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("bounds", [(0.5, 6.5), (-np.inf, 3.0), (-1e30, 1e30), (2.0, np.inf)])
def test_clip_integers_between_any_bounds(check_record, dtype, bounds):
    data = np.array([0, 1, 5, 6, 7, 100], dtype)
    attributes = {"a_min": bounds[0], "a_max": bounds[1]}
    result = check_record(find_operator("clip"), [data], attributes)
    inside = (data >= bounds[0]) & (data <= bounds[1])
    np.testing.assert_array_equal(result[inside], data[inside])
    assert np.all((result >= bounds[0]) & (result <= bounds[1]))


@pytest.mark.parametrize("condition_dtype", ["bool", "int32", "float32"])
def test_where(check_record, random_array, condition_dtype):
    condition = np.array([[0], [2]]).astype(condition_dtype)
    check_record(find_operator("where"), [condition, random_array((3,)), random_array((2, 1))])


@st.composite
def broadcast_shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = draw(st.lists(st.integers(1, 4), max_size=4))
    shapes = []
    for _ in range(2):
        kept = shape[draw(st.integers(0, len(shape))) :]
        shapes.append(tuple(size if draw(st.booleans()) else 1 for size in kept))
    return shapes[0], shapes[1]


@settings(max_examples=40, deadline=None)
@given(broadcast_shapes())
def test_broadcasting(shapes):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 9, shape).astype("int32") for shape in shapes]
    inputs = [input_tensor("x", a.shape, "int32") for a in arrays]
    expected = np.add(*arrays)
    outputs = add.compute(None, inputs, [TensorType(expected.shape, "int32")])
    (found,) = evaluate(outputs, dict(zip(inputs, arrays, strict=True)))
    np.testing.assert_array_equal(found, expected)
