import numpy as np

from relay_tune.ir.dim import Symbol
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.tensor.expression import Load
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import input_tensor


def run(name, *arrays, **attributes):
    operator = find_operator(name)
    return operator.reference(operator.attributes(**attributes), *arrays)


DATA = np.arange(6, dtype="float32").reshape(2, 3)


def test_shapes_from_values():
    assert run("dyn.reshape", DATA, np.array([3, -1])).shape == (3, 2)
    assert run("dyn.broadcast_to", DATA, np.array([4, 2, 3])).shape == (4, 2, 3)
    assert run("dyn.tile", DATA, np.array([2, 1])).shape == (4, 3)
    found = run("dyn.strided_slice", DATA, np.array([0, 2]), np.array([2, 0]), np.array([1, -1]))
    np.testing.assert_array_equal(found, DATA[0:2, 2:0:-1])


def test_creation_from_values():
    shape = np.array([2, 2])
    np.testing.assert_array_equal(run("dyn.zeros", shape, dtype="int8"), np.zeros((2, 2), "int8"))
    np.testing.assert_array_equal(run("dyn.ones", shape, dtype="bool"), np.ones((2, 2), bool))
    full = run("dyn.full", np.array(3.0, "float32"), shape)
    assert full.dtype == np.float32 and full.shape == (2, 2)
    bounds = [np.array(value, "int64") for value in (1, 7, 2)]
    np.testing.assert_array_equal(run("dyn.arange", *bounds, dtype="int64"), [1, 3, 5])


def test_topk_of_a_value():
    values, indices = run("dyn.topk", DATA, np.array([2]))
    np.testing.assert_array_equal(values, [[2, 1], [5, 4]])
    np.testing.assert_array_equal(indices, [[2, 1], [2, 1]])


def test_argwhere():
    np.testing.assert_array_equal(run("argwhere", DATA > 3), [[1, 1], [1, 2]])


def test_reinterpret():
    found = run("reinterpret", np.array([1.0], "float32"), dtype="int32")
    assert found.tolist() == [0x3F800000]


def test_a_reshape_to_sizes_that_are_values_divides_by_no_size() -> None:
    """The elements lie in the same order before and after: a copy along one axis."""
    sizes = [symbolic_size(Symbol(name), 8) for name in "abc"]
    data = input_tensor("x", (sizes[0], sizes[1]), "float32")
    vector = input_tensor("s", (1,), "int64")
    record = find_operator("dyn.reshape")
    kept = TensorType((sizes[2],), "float32")
    (result,) = record.compute(record.attributes(), [data, vector], [kept])
    assert isinstance(result.body, Load)
    assert result.body.indices == (result.axes[0],)
