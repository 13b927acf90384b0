"""Memory of large results is used again once nobody can see it, and no sooner."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.runtime.result_memory import LARGE_RESULT, ResultMemory

ROWS = LARGE_RESULT // (4 * 1024)

SHIFTED = f"""
#[version = "0.0.5"]
def @main(%x: Tensor[({ROWS}, 1024), float32], %y: Tensor[(4), float32]) {{
  (add(%x, 1f), add(%y, 1f))
}}
"""


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


@pytest.fixture
def memory() -> ResultMemory:
    return ResultMemory((3, 1000), np.dtype(np.float32))


def test_arrays_have_memory_of_their_own_that_is_taken_again(memory: ResultMemory) -> None:
    first, second = memory.array(), memory.array()
    assert first.shape == (3, 1000) and first.dtype == np.float32 and first.flags.writeable
    assert not np.shares_memory(first, second)
    place = address(first)
    del first
    again = memory.array()
    assert address(again) == place
    assert not np.shares_memory(again, second)


@pytest.mark.parametrize(
    "seen",
    [
        lambda array: array[1:],
        lambda array: array.T[5:],
        lambda array: array.view(np.uint8)[:, ::2],
        lambda array: np.asarray(array.base)[8:],
        lambda array: np.asarray(memoryview(array)),
        lambda array: np.from_dlpack(array)[:2],
        lambda array: array.ravel()[7:].reshape(-1, 1),
    ],
    ids=["rows", "turned", "bytes", "base", "buffer", "dlpack", "flat"],
)
def test_memory_that_is_seen_is_not_taken(memory: ResultMemory, seen) -> None:
    array = memory.array()
    array[...] = 7
    view = seen(array)
    kept, place = view.copy(), address(array)
    del array
    gc.collect()
    other = memory.array()
    other[...] = 9
    assert address(other) != place
    np.testing.assert_array_equal(view, kept)
    del view
    assert address(memory.array()) == place


def test_one_block_is_kept(memory: ResultMemory) -> None:
    arrays = [memory.array() for _ in range(4)]
    places = [address(array) for array in arrays]
    arrays.clear()
    found = [memory.array() for _ in range(2)]
    assert address(found[0]) in places
    assert not np.shares_memory(*found)


def test_arrays_outlive_their_program() -> None:
    own = ResultMemory((4,), np.dtype(np.int64))
    array = own.array()
    array[...] = 3
    del own
    gc.collect()
    assert array.tolist() == [3] * 4


def test_results_of_calls() -> None:
    model = rt.build(rt.parse(SHIFTED), threads=1)
    x, y = np.zeros((ROWS, 1024), np.float32), np.zeros(4, np.float32)
    large, small = model(x, y)
    assert address(large) % 64 == 0 and small.tolist() == [1] * 4
    row, place = large[5], address(large)
    del large
    x += 1
    other, _ = model(x, y)
    assert row.max() == 1 and other.min() == other.max() == 2
    assert address(other) != place
    del row
    assert address(model.run({"x": x, "y": y})[0]) == place


def test_calls_of_several_threads_have_results_of_their_own() -> None:
    model = rt.build(rt.parse(SHIFTED), threads=1)
    y = np.zeros(4, np.float32)

    def rows(number: int) -> bool:
        x = np.full((ROWS, 1024), number, np.float32)
        found = [model(x, y)[0] for _ in range(3)]
        return all(bool((each == number + 1).all()) for each in found)

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(rows, range(4)))
