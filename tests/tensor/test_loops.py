import numpy as np
import pytest

from relay_tune.tensor.expression import Axis, binary, literal
from relay_tune.tensor.loops import Allocate, Buffer, BufferScope, LaneReduce, LoopBuilder, Store
from relay_tune.tensor.run_loops import run_loops
from relay_tune.tensor.touched import statements, touched_tensors


def argument(name: str, size: int, dtype: str = "int64") -> Buffer:
    return Buffer(name=name, shape=(size,), dtype=dtype, scope=BufferScope.ARGUMENT)


def test_prefix_sums_of_the_rows_of_a_triangle():
    b, x, y = LoopBuilder(), argument("x", 6), argument("y", 6)
    total = b.local("total", (), "int64")
    with b.loop("i", 6) as i:
        b.store(total, (), 0)
        with b.loop("j", i + 1) as j:
            b.store(total, (), total[()] + x[j])
        b.store(y, (i,), total[()])
    data, result = np.arange(1, 7), np.zeros(6, "int64")
    run_loops(b.statement(), {x: data, y: result})
    np.testing.assert_array_equal(result, np.cumsum(data))


def test_while_and_when():
    b, y = LoopBuilder(), argument("y", 10)
    at = b.local("at", (), "int64")
    b.store(at, (), 1)
    with b.while_(binary("lt", at[()], 10)):
        with b.when(binary("ne", at[()], 4)):
            b.store(y, (at[()],), at[()] * 10)
        b.store(at, (), at[()] * 2)
    result = np.zeros(10, "int64")
    run_loops(b.statement(), {y: result})
    np.testing.assert_array_equal(np.flatnonzero(result), [1, 2, 8])
    assert result[8] == 80


def test_a_store_out_of_bounds_is_found():
    b, y = LoopBuilder(), argument("y", 3)
    with b.loop("i", 4) as i:
        b.store(y, (i,), 1)
    with pytest.raises(IndexError, match="written at 3, outside of dimension 0 of size 3"):
        run_loops(b.statement(), {y: np.zeros(3, "int64")})


def test_own_buffers_are_not_touched_tensors():
    b, x, y = LoopBuilder(), argument("x", 4), argument("y", 4)
    kept = b.local("kept", (4,), "int64")
    with b.loop("i", x[0]) as i:
        b.store(kept, (i,), x[i])
        b.store(y, (i,), kept[i])
    nest = b.statement()
    assert touched_tensors(nest) == (x, y)
    assert isinstance(nest, Allocate) and nest.buffer is kept
    assert sum(isinstance(node, Store) for node in statements(nest)) == 2


def test_what_a_lane_reduction_reads_is_touched():
    x, y, lane = argument("x", 4), argument("y", 1), Axis("lane", 4)
    total = LaneReduce("sum", lane, (x[lane],), dtype="int64")
    assert touched_tensors(Store(y, (literal(0, "int64"),), total)) == (x, y)
