import numpy as np
import pytest

from relay_tune.tensor.expression import Axis, Scalar, binary, cast, literal
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
    Let,
    Loop,
    LoopBuilder,
    LoopKind,
    Statement,
    Store,
)
from tests.codegen.running import argument, check, loop, number, register, run_native

PARALLEL, UNROLLED, VECTOR = LoopKind.PARALLEL, LoopKind.UNROLLED, LoopKind.VECTOR


def ramp(count: int, dtype: str = "float32") -> np.ndarray:
    return np.arange(1, count + 1).astype(dtype)


def zeros(count: int, dtype: str = "float32") -> np.ndarray:
    return np.zeros(count, dtype)


@pytest.mark.parametrize("kind", list(LoopKind))
@pytest.mark.parametrize("extent", [1, 2, 5, 8, 13])
def test_every_kind_of_loop_visits_each_iteration(kind, extent):
    i, x, y = Axis("i", extent), argument("x", extent), argument("y", extent)
    check(loop(i, Store(y, (i,), x[i] * 2.0), kind=kind), {x: ramp(extent), y: zeros(extent)})


def test_loops_with_bounds_from_memory():
    b = LoopBuilder()
    bounds, y = argument("bounds", 6, "int64"), argument("y", 20, "int64")
    with b.loop("i", 5) as i:  # noqa: SIM117
        with b.loop("j", bounds[i + 1], begin=bounds[i]) as j:
            b.store(y, (j,), i * 100 + j)
    check(b.statement(), {bounds: np.array([2, 5, 5, 3, 9, 12]), y: zeros(20, "int64")})


def test_a_loop_that_never_runs():
    i, y = Axis("i", 4), argument("y", 4)
    body = Loop(i, number(3), number(2), Store(y, (i,), literal(1.0, "float32")))
    assert not check(body, {y: zeros(4)})[y].any()


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 50])
def test_threads_share_the_iterations(threads):
    i, y = Axis("i", 11), argument("y", 11)
    body = loop(i, Store(y, (i,), y[i] + 1.0), kind=PARALLEL)
    check(body, {y: ramp(11)}, threads=threads)


def test_what_is_not_parallel_runs_once():
    i, y, z = Axis("i", 6), argument("y", 6), argument("z", 2)
    body = Block(
        (
            Store(z, (number(0),), z[0] + 1.0),
            loop(i, Store(y, (i,), y[i] + 1.0), kind=PARALLEL),
            Store(z, (number(1),), z[1] + 1.0),
        )
    )
    check(body, {y: ramp(6), z: zeros(2)}, threads=3)


def test_a_kernel_without_parallel_loops_runs_on_one_thread():
    y = argument("y", 1)
    check(Store(y, (number(0),), y[0] + 1.0), {y: zeros(1)}, threads=4)


def test_local_buffers_belong_to_their_iteration():
    b = LoopBuilder()
    x, y = argument("x", (5, 7), "int32"), argument("y", (5, 7), "int32")
    row = b.local("row", (7,), "int32")
    with b.loop("i", 5) as i:
        with b.loop("j", 7) as j:
            b.store(row, (j,), x[i, j])
        with b.loop("j", 7) as j:
            b.store(y, (i, j), row[6 - j] * 2)
    data = np.arange(35, dtype="int32").reshape(5, 7)
    found = check(b.statement(), {x: data, y: np.zeros((5, 7), "int32")})
    np.testing.assert_array_equal(found[y], 2 * data[:, ::-1])


def test_collatz():
    b, y = LoopBuilder(), argument("y", 9, "int64")
    n, steps = b.local("n", (), "int64"), b.local("steps", (), "int64")
    with b.loop("i", 9) as i:
        b.store(n, (), i + 1)
        b.store(steps, (), 0)
        with b.while_(binary("gt", n[()], 1)):
            odd = binary("eq", n[()] % 2, 1)
            b.store(steps, (), steps[()] + 1)
            with b.when(odd):
                b.store(n, (), n[()] * 6 + 2)
            b.store(n, (), n[()] // 2)
        b.store(y, (i,), steps[()])
    found = check(b.statement(), {y: zeros(9, "int64")})
    np.testing.assert_array_equal(found[y], [0, 1, 7, 2, 5, 8, 16, 3, 19])


@pytest.mark.parametrize(
    "value", [lambda n: n // 3, lambda n: n % 4, lambda n: (n * n) % 12, lambda n: n + 0]
)
@pytest.mark.parametrize("kind", [LoopKind.SERIAL, PARALLEL, UNROLLED, LoopKind.IN_ORDER])
def test_let_names_a_value(value, kind):
    n, m, j = Axis("n", 12), Axis("m", 12), Axis("j", 4)
    x, y = argument("x", 48), argument("y", 48)
    body = loop(j, Store(y, (n * 4 + j,), x[m * 4 + j] + x[m]), kind=VECTOR)
    check(loop(n, Let(m, value(n), body), kind=kind), {x: ramp(48), y: zeros(48)}, threads=2)


def test_sums_in_registers_are_carried_through_loops():
    i, k, lane = Axis("i", 3), Axis("k", 7), Axis("lane", 4)
    x, y, acc = (
        argument("x", (7, 12), "int32"),
        argument("y", 12, "int32"),
        register("a", (4,), "int32"),
    )
    body = Block(
        (
            loop(lane, Store(acc, (lane,), literal(0, "int32")), kind=VECTOR),
            loop(k, loop(lane, Store(acc, (lane,), acc[lane] + x[k, i * 4 + lane]), kind=VECTOR)),
            loop(lane, Store(y, (i * 4 + lane,), acc[lane]), kind=VECTOR),
        )
    )
    data = np.arange(84, dtype="int32").reshape(7, 12)
    found = check(loop(i, Allocate(acc, body)), {x: data, y: zeros(12, "int32")})
    np.testing.assert_array_equal(found[y], data.sum(axis=0))


@pytest.mark.parametrize("sides", ["then", "both", "else"])
@pytest.mark.parametrize("inner_loop", [False, True])
def test_registers_after_a_branch(sides, inner_loop):
    i, k = Axis("i", 10), Axis("k", 3)
    x, y, acc = argument("x", 10), argument("y", 10), register("acc", (2,))
    one, two = number(0), number(1)

    def grown(cell: Scalar, factor: float) -> Statement:
        step = Store(acc, (cell,), acc[cell] * factor)
        return loop(k, step) if inner_loop else step

    then = grown(one, 3.0) if sides != "else" else None
    otherwise = Block((grown(one, 5.0), grown(two, 7.0))) if sides != "then" else None
    condition = binary("gt", x[i], 4.0)
    body = Block(
        (
            Store(acc, (one,), x[i]),
            Store(acc, (two,), literal(1.0, "float32")),
            Branch(condition, then or Block(()), otherwise),
            Store(y, (i,), acc[one] + acc[two]),
        )
    )
    check(loop(i, Allocate(acc, body)), {x: ramp(10), y: zeros(10)})


def test_registers_carried_around_a_loop_with_branches():
    i, x, y, acc = Axis("i", 9), argument("x", 9), argument("y", 1), register("acc", ())
    grow = Branch(
        binary("lt", x[i], 5.0),
        Store(acc, (), acc[()] + x[i]),
        Branch(binary("eq", x[i], 7.0), Store(acc, (), acc[()] * 2.0)),
    )
    start = Store(acc, (), literal(0.0, "float32"))
    body = Allocate(acc, Block((start, loop(i, grow), Store(y, (number(0),), acc[()]))))
    assert check(body, {x: ramp(9), y: zeros(1)})[y] == 20


@pytest.mark.parametrize("threads", [1, 3])
def test_a_branch_that_ranges_settle_is_not_written(threads):
    i, y = Axis("i", 6), argument("y", 6)
    write = Store(y, (i,), cast(i, "float32"))
    unreachable = Store(y, (i + 1000,), cast(i, "float32"))
    body = loop(i, Branch(binary("lt", i, 6), write, unreachable), kind=PARALLEL)
    check(body, {y: zeros(6)}, threads=threads)


def test_loads_see_the_stores_before_them():
    i, k = Axis("i", 4), Axis("k", 3)
    x, y = argument("x", 4), argument("y", 12)
    body = Block(
        (
            Store(y, (number(0),), x[0]),
            Store(x, (number(0),), x[0] + 10.0),
            Store(y, (number(1),), x[0]),
            loop(k, Store(x, (number(0),), x[0] * 2.0), Store(y, (k + 2,), x[0])),
            Store(y, (number(5),), x[0]),
            Branch(binary("gt", x[1], 0.0), Store(x, (number(2),), x[0])),
            Store(y, (number(6),), x[2]),
            loop(i, Store(y, (i + 7,), x[2]), Store(x, (number(2),), x[2] + 1.0), kind=UNROLLED),
        )
    )
    check(body, {x: ramp(4), y: zeros(12)})


def test_values_of_one_branch_are_not_used_in_the_other():
    i, x, y = Axis("i", 6), argument("x", 6), argument("y", 12)
    shared = (x[i] + 1.0) * (x[i] + 2.0)
    body = Branch(
        binary("gt", x[i], 3.0),
        Store(y, (i,), shared),
        Block((Store(y, (i + 6,), shared), Store(y, (i,), shared + 1.0))),
    )
    check(loop(i, body, Store(y, (i,), y[i] + shared)), {x: ramp(6), y: zeros(12)})


@pytest.mark.parametrize("stride", [1, 2, -1, 5])
@pytest.mark.parametrize("active", [3, 8])
def test_vectors_are_stored_at_any_stride(stride, active):
    lane, x = Axis("lane", active), argument("x", active)
    y = argument("y", 5 * active)
    begin = 5 * active - 1 if stride < 0 else 0
    body = loop(lane, Store(y, (lane * stride + begin,), x[lane]), kind=VECTOR)
    check(body, {x: ramp(active), y: zeros(5 * active)})


def test_vectors_are_scattered_in_order():
    lane, x, y = Axis("lane", 6), argument("x", 6), argument("y", 9)
    indices = argument("places", 6, "int64")
    body = loop(lane, Store(y, (indices[lane],), x[lane]), kind=VECTOR)
    where = np.array([8, 0, 3, 3, 0, 1])
    found = check(body, {x: ramp(6), y: zeros(9), indices: where})
    np.testing.assert_array_equal(found[y], [5, 6, 0, 4, 0, 0, 0, 0, 1])


def test_one_value_is_stored_in_all_lanes():
    lane, x, y = Axis("lane", 5), argument("x", 1), argument("y", 5)
    body = loop(lane, Store(y, (lane,), x[0]), kind=VECTOR)
    check(body, {x: ramp(1), y: zeros(5)})


def test_a_kernel_without_buffers_is_a_function():
    i = Axis("i", 3)
    assert run_native(loop(i, Block(())), {}) == {}
