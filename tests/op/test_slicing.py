import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.ir.dim import Symbol
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.op.slicing import strided_slice
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import input_tensor


@pytest.mark.parametrize(
    "attributes",
    [
        {"begin": (1, 0), "end": (3, 4)},
        {"begin": (None, -3), "end": (None, None), "strides": (2, 1)},
        {"begin": (-1, 3), "end": (-10, 0), "strides": (-1, -2)},
        {"begin": (1,), "end": (4,), "axes": (-1,)},
        {"begin": (0,), "end": (2**31 - 1,), "axes": (1,), "strides": (3,)},
        {"begin": (1, 2), "end": (2, -1), "slice_mode": "size"},
        {"begin": (3,), "end": (1,)},
    ],
)
def test_strided_slice(check_record, random_array, attributes):
    check_record(find_operator("strided_slice"), [random_array((4, 6))], attributes)


BOUND = st.one_of(st.none(), st.integers(-8, 8))
STRIDE = st.sampled_from([-3, -2, -1, 1, 2, 3])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), BOUND, BOUND, STRIDE)
def test_strided_slice_is_that_of_python(size, begin, end, stride):
    data = np.arange(size, dtype="int32")
    expected = data[begin:end:stride]
    record = strided_slice.attributes(begin=(begin,), end=(end,), strides=(stride,))
    tensor = input_tensor("x", (size,), "int32")
    type_ = strided_slice.relation([TensorType((size,), "int32")], record, None)
    assert type_.shape == expected.shape
    (found,) = evaluate(strided_slice.compute(record, [tensor], [type_]), {tensor: data})
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("axes", [None, (0,), (-1, 0)])
def test_slice_like(check_record, random_array, axes):
    arrays = [random_array((4, 6, 3)), random_array((2, 5, 3))]
    check_record(find_operator("slice_like"), arrays, {"axes": axes})


@pytest.mark.parametrize(
    "attributes",
    [
        {"begin": (1, 0), "end": (3, 4)},
        {"begin": (0, 5), "end": (None, None), "strides": (3, -3)},
        {"begin": (3,), "end": (0,), "strides": (-2,)},
    ],
)
def test_strided_set(check_record, random_array, attributes):
    data = random_array((4, 6))
    strides = attributes.get("strides", (1,) * len(attributes["begin"]))
    bounds = zip(attributes["begin"], attributes["end"], strides, strict=True)
    values = random_array(data[tuple(slice(*bound) for bound in bounds)].shape)
    check_record(find_operator("strided_set"), [data, values], attributes)


@pytest.mark.parametrize("axis, window, strides", [(0, (2, 3, 1), (1, 2, 1)), (-2, (2, 3), (2, 1))])
def test_sliding_window(check_record, random_array, axis, window, strides):
    attributes = {"axis": axis, "window_shape": window, "strides": strides}
    check_record(find_operator("sliding_window"), [random_array((4, 6, 3))], attributes)


@pytest.mark.parametrize(("begin", "first"), [(0, 0), (None, 0), (1, 1), (2, None), (-2, None)])
def test_where_a_slice_of_an_open_axis_begins_is_known_where_it_lies_in_it(begin, first):
    """An index that is no minimum is affine: vectors and tiles of what follows need that."""
    data = input_tensor("x", (symbolic_size(Symbol("n"), 64), 4), "float32")
    record = strided_slice.attributes(begin=(begin, 1), end=(None, 3))
    kept = TensorType((symbolic_size(Symbol("m"), 60), 2), "float32")
    (result,) = strided_slice.compute(record, [data], [kept])
    form = axis_affine(result.body.indices[0])
    assert (None if form is None else form.constant) == first
