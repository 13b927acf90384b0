import numpy as np
import pytest

from relay_tune.ir.operator import find_operator

OUTSIDE = np.array([[0, 2, 7], [-1, -9, 1]], "int32")


@pytest.mark.parametrize("mode", ["clip", "wrap", "fast"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take(check_record, random_array, axis, mode):
    attributes = {"axis": axis, "mode": mode}
    check_record(find_operator("take"), [random_array((4, 3, 5)), OUTSIDE], attributes)
    check_record(find_operator("take"), [random_array((4, 3, 5)), np.array(1, "int64")], attributes)


@pytest.mark.parametrize("axis, batch", [(1, 1), (2, 1), (2, 2), (-1, -1)])
def test_take_with_batches(check_record, random_array, axis, batch):
    data, indices = random_array((2, 3, 5)), np.array([[0, 2, 4], [1, 0, 9]], "uint8")
    attributes = {"axis": axis, "batch_dims": batch}
    check_record(find_operator("take"), [data, indices], attributes)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather(check_record, random_array, axis):
    indices = np.array([[[0, 1, 9], [2, 0, -4]]], "int64")
    check_record(find_operator("gather"), [random_array((2, 3, 4)), indices], {"axis": axis})


@pytest.mark.parametrize("rows, batch", [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1)])
def test_gather_nd(check_record, random_array, rows, batch):
    rng = np.random.default_rng(0)
    indices = rng.integers(-1, 5, (rows, 2, 3)).astype("int32")
    attributes = {"batch_dims": batch}
    check_record(find_operator("gather_nd"), [random_array((2, 3, 4)), indices], attributes)


def test_advanced_index_broadcasts_and_counts_from_the_end(check_record, random_array):
    inputs = (
        random_array((4, 3, 2)),
        np.array([[0], [-1]], "int64"),
        np.array([2, 0, -3], "int32"),
    )
    found = check_record(find_operator("adv_index"), [inputs])
    np.testing.assert_array_equal(found, inputs[0][inputs[1], inputs[2]])


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_one_hot(check_record, axis, dtype):
    indices = np.array([[0, 3], [-1, 4]], "int64")
    arrays = [indices, np.array(1, "float32"), np.array(0, "float32")]
    attributes = {"depth": 4, "axis": axis, "dtype": dtype}
    found = check_record(find_operator("one_hot"), arrays, attributes)
    assert found.sum() == 2


@pytest.mark.parametrize("axis", [0, 1])
def test_sequence_mask(check_record, random_array, axis):
    lengths = np.array([0, 2, 9], "int32")
    data = random_array((4, 3, 2) if axis == 0 else (3, 4, 2))
    attributes = {"mask_value": -1.5, "axis": axis}
    check_record(find_operator("sequence_mask"), [data, lengths], attributes)


@pytest.mark.parametrize("indices", [np.array([0, 22, 41, -42], "int32"), np.array(7, "int64")])
def test_unravel_index(check_record, indices):
    found = check_record(find_operator("unravel_index"), [indices, np.array([7, 6], "int32")])
    np.testing.assert_array_equal(found, np.unravel_index(indices % 42, (7, 6)))


REDUCTIONS = ["update", "add", "mul", "min", "max"]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter_elements(check_record, random_array, reduction, axis):
    indices = np.array([[0, 1, 9], [-1, 0, 0], [2, 2, -8]], "int64")
    arrays = [random_array((3, 4)), indices, random_array((3, 3))]
    attributes = {"axis": axis, "reduction": reduction}
    check_record(find_operator("scatter_elements"), arrays, attributes)


@pytest.mark.parametrize("mode", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_scatter_nd(check_record, random_array, mode, dtype):
    indices = np.array([[0, 1, 1, -1], [2, 0, 0, 9]], "int32")
    arrays = [random_array((2, 3, 2), dtype), indices, random_array((4, 2), dtype)]
    check_record(find_operator("scatter_nd"), arrays, {"mode": mode})


@pytest.mark.parametrize("shape, count", [((3, 0), 2), ((0, 2), 0), ((3, 2), 0)])
def test_scatter_nd_of_nothing(check_record, random_array, shape, count):
    indices = np.zeros((1, count), "int64")
    arrays = [random_array(shape), indices, random_array((count, shape[1]))]
    found = check_record(find_operator("scatter_nd"), arrays)
    np.testing.assert_array_equal(found, arrays[0])


def test_scatter_nd_agrees_with_onnx(check_record, run_onnx, random_array):
    data, updates = random_array((3, 4, 2)), random_array((2, 2))
    indices = np.array([[0, 3], [2, 1]], "int64")
    expected = run_onnx("ScatterND", [data, indices, updates])
    found = check_record(find_operator("scatter_nd"), [data, indices.T.copy(), updates])
    np.testing.assert_array_equal(found, expected)
