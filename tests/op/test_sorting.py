import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relay_tune as rt
from relay_tune.ir.dim import Symbol
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.op.heap_selection import selected_tensors
from relay_tune.op.merge_sort import sorted_tensors
from relay_tune.op.sorting import TopkAttributes, stable_order, topk_elements
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import input_tensor

WITH_NAN = np.array([[3, np.nan, -1, 3, np.inf], [0, -0.0, 1, np.nan, np.nan]], "float32")


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sort_and_argsort(check_record, random_array, axis, ascending):
    attributes = {"axis": axis, "is_ascend": ascending}
    for data in (WITH_NAN, random_array((3, 4, 5), "int8"), random_array((2, 7), "uint16")):
        check_record(find_operator("sort"), [data], attributes)
        check_record(find_operator("argsort"), [data], attributes | {"dtype": "int64"})


def test_nan_is_greatest_and_equal_elements_keep_their_order(check_record):
    descending = {"is_ascend": False}
    found = check_record(find_operator("argsort"), [WITH_NAN], descending)
    assert found.tolist() == [[1, 4, 0, 3, 2], [3, 4, 2, 0, 1]]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-3, 3), max_size=12))
def test_merge_sort_of_any_length(values):
    data = np.array(values, "int32")
    tensor = input_tensor("x", data.shape, "int32")
    outputs = sorted_tensors("sort", tensor, 0, len(values), True, "int32")
    found, indices = evaluate(outputs, {tensor: data})
    np.testing.assert_array_equal(found, np.sort(data))
    np.testing.assert_array_equal(indices, np.argsort(data, kind="stable"))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([-2.0, 0.0, -0.0, 1.0, 3.0, np.inf, -np.inf, np.nan]), min_size=1),
    st.booleans(),
    st.data(),
)
def test_a_heap_keeps_what_sorting_puts_first(values, ascending, data):
    row = np.array([values, values[::-1]], "float32")
    kept = data.draw(st.integers(1, len(values)))
    tensor = input_tensor("x", row.shape, "float32")
    found, indices = evaluate(selected_tensors(tensor, 1, kept, ascending, "int32"), {tensor: row})
    order = stable_order(row, 1, ascending)[:, :kept]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(found, np.take_along_axis(row, order, 1))


@pytest.mark.parametrize("k", [1, 7, 250, 300])
@pytest.mark.parametrize("ascending", [True, False])
def test_compiled_topk_is_that_of_the_interpreter(k, ascending):
    module = rt.parse(
        "def @main(%x: Tensor[(2, 1000, 3), float32]) "
        f"{{ topk(%x, k={k}, axis=1, is_ascend={ascending}) }}"
    )
    x = np.random.default_rng(k).integers(0, 200, (2, 1000, 3)).astype("float32")
    x[0, ::7, 1] = np.nan
    for found, expected in zip(rt.build(module)(x), rt.interpret(module, x), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("ascending", [True, False])
def test_a_heap_keeps_elements_of_an_open_axis(ascending):
    """However many elements there are; a row of fewer than are kept is refused, not read over."""
    text = (
        f"def @main(%x: Tensor[(n, 2), float32]) {{ topk(%x, k=5, axis=0, is_ascend={ascending}) }}"
    )
    module = rt.parse(text)
    model = rt.build(module)
    for count in (5, 6, 300):
        x = np.random.default_rng(count).integers(0, 9, (count, 2)).astype("float32")
        for found, expected in zip(model(x), rt.interpret(module, x), strict=True):
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(rt.RelayError, match="has fewer elements than the 5 kept"):
        model(np.ones((4, 2), "float32"))


@pytest.mark.parametrize(("size", "is_heap"), [(8, False), (64, True), ("n", True)])
def test_rows_of_an_open_axis_are_taken_for_long(size, is_heap):
    """100 of 8400 elements took fifty times as long where they were sorted."""
    length = symbolic_size(Symbol(size), 4) if isinstance(size, str) else size
    data = input_tensor("x", (3, length), "float32")
    values, _ = topk_elements(TopkAttributes(k=5), [data], [TensorType((3, 5), "float32")])
    assert ("hole" in str(values.procedure)) == is_heap


@pytest.mark.parametrize("ret_type", ["both", "values", "indices"])
@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("ascending", [True, False])
def test_topk(check_record, random_array, k, ret_type, ascending):
    attributes = {"k": k, "ret_type": ret_type, "is_ascend": ascending}
    check_record(find_operator("topk"), [random_array((3, 5))], attributes)
    check_record(find_operator("topk"), [WITH_NAN.T.copy()], attributes | {"axis": 0})


@pytest.mark.parametrize("right", [True, False])
def test_searchsorted(check_record, right):
    sequence, values = np.array([1, 3, 3, 7], "int32"), np.array([[0, 3], [4, 9]], "int32")
    found = check_record(find_operator("searchsorted"), [sequence, values], {"right": right})
    side = "right" if right else "left"
    np.testing.assert_array_equal(found, np.searchsorted(sequence, values, side))
    rows = np.array([[1, 2, 3], [4, 4, 5]], "int32")
    check_record(find_operator("searchsorted"), [rows, values], {"right": right})


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scan(check_record, random_array, name, axis, exclusive):
    attributes = {"axis": axis, "exclusive": exclusive}
    check_record(find_operator(name), [random_array((3, 4))], attributes)
    wider = attributes | {"dtype": "int32"}
    check_record(find_operator(name), [random_array((3, 4), "int8")], wider)
    check_record(find_operator(name), [random_array((3, 4), "float16")], attributes, 1e-2)
