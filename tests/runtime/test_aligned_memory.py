import numpy as np
import pytest

from relay_tune.runtime.aligned_memory import ALIGNMENT, aligned_array, aligned_bytes


@pytest.mark.parametrize("count", [0, 1, 63, 64, 1000])
def test_bytes_begin_on_a_boundary(count):
    memory = aligned_bytes(count)
    assert memory.size == count and (count == 0 or memory.ctypes.data % ALIGNMENT == 0)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4), (5, 7)])
@pytest.mark.parametrize("dtype", ["float32", "bool", "int64"])
def test_arrays_begin_on_a_boundary(shape, dtype):
    array = aligned_array(shape, np.dtype(dtype))
    assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
    assert array.size == 0 or array.ctypes.data % ALIGNMENT == 0
    assert array.flags.writeable and not array.any()
