import numpy as np

from relay_tune.tensor.deferred_array import ConstantData, array_of, deferred
from relay_tune.tensor.scalar_semantics import Array


def test_sizes_are_known_before_the_elements() -> None:
    made: list[Array] = []

    def compute() -> Array:
        made.append(np.ones((2, 3), np.float32))
        return made[-1]

    data: ConstantData = deferred((2, 3), "float32", compute)
    assert (data.size, data.itemsize, data.nbytes) == (6, 4, 24)
    assert data.dtype == np.float32 and not made
    assert array_of(data).sum() == 6 and len(made) == 1


def test_arrays_are_their_own_elements() -> None:
    array = np.zeros(3)
    assert array_of(array) is array
