import numpy as np
import pytest

from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    binary,
    cast,
    literal,
    neutral_element,
    select,
)
from relay_tune.tensor.loops import Kernel, LaneReduce, LoopKind, Statement, Store
from relay_tune.tensor.scalar_semantics import apply_reduction, numpy_dtype
from relay_tune.tensor.touched import touched_tensors
from tests.codegen.running import BASELINE, argument, check, loop, number, run_native

DTYPES = ("float32", "float64", "int8", "uint16", "int32", "int64", "bool", "float16", "bfloat16")
WITHOUT_HALF = tuple(dtype for dtype in DTYPES if dtype != "float16")


def data(count: int, dtype: str) -> np.ndarray:
    return (np.arange(count) * 7 % 11 - (0 if dtype[0] in "bu" else 4)).astype(numpy_dtype(dtype))


def vectors(axis: Axis, lanes: int, write) -> Statement:
    """`write(index)` for all of an axis in vectors, a shorter one at the end."""
    full, rest = divmod(axis.extent, lanes)
    outer, lane, tail = Axis("o", full), Axis("l", lanes), Axis("t", rest)
    parts = []
    if full:
        vector = loop(lane, write(outer * lanes + lane), kind=LoopKind.VECTOR)
        parts.append(loop(outer, vector))
    if rest:
        parts.append(loop(tail, write(tail + full * lanes), kind=LoopKind.VECTOR))
    return loop(Axis("once", 1), *parts)


@pytest.mark.parametrize("dtype", WITHOUT_HALF)
@pytest.mark.parametrize("extent", [1, 3, 8, 11, 29])
def test_masked_tails_touch_nothing_beyond(dtype, extent):
    x, y = argument("x", extent, dtype), argument("y", extent, dtype)
    body = vectors(Axis("i", extent), 8, lambda i: Store(y, (i,), x[i]))
    check(body, {x: data(extent, dtype), y: np.zeros(extent, numpy_dtype(dtype))})


def test_bfloat16_that_is_only_moved_keeps_its_bits():
    """The smallest ones, too, which instructions that round take for zeros."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    bits = bits[bits & 0x7FFF <= 0x7F80]  # no NaN
    x, y = (argument(name, bits.size, "bfloat16") for name in ("x", "y"))
    moved = np.zeros_like(bits).view(numpy_dtype("bfloat16"))
    body = vectors(Axis("i", bits.size), 16, lambda i: Store(y, (i,), x[i]))
    found = run_native(body, {x: bits.view(moved.dtype), y: moved})
    np.testing.assert_array_equal(found[y].view(np.uint16), bits)


@pytest.mark.parametrize("dtype", WITHOUT_HALF)
@pytest.mark.parametrize(
    "index",
    [
        lambda i: i * 3,
        lambda i: 32 - i,
        lambda i: i // 2,
        lambda i: (i * 5) % 33,
        lambda i: number(32),
        lambda i: binary("min", i + 4, number(9)),
        lambda i: i % 4 * 8 + i // 4,
    ],
)
def test_loads_at_any_place(dtype, index):
    x, y = argument("x", 33, dtype), argument("y", 11, dtype)
    body = vectors(Axis("i", 11), 8, lambda i: Store(y, (i,), x[index(i)]))
    check(body, {x: data(33, dtype), y: np.zeros(11, numpy_dtype(dtype))})


@pytest.mark.parametrize("index_type", ["int64", "int32", "int8"])
def test_loads_at_loaded_places(index_type):
    table, y, where = argument("t", (5, 3)), argument("y", (11, 3)), argument("w", 11, index_type)
    j = Axis("j", 3)
    body = loop(
        j,
        vectors(Axis("i", 11), 8, lambda i: Store(y, (i, j), table[cast(where[i], "int64"), j])),
    )
    indices = (np.arange(11) * 3 % 5).astype(index_type)
    arrays = {table: data(15, "float32").reshape(5, 3), where: indices, y: np.zeros((11, 3), "f4")}
    check(body, arrays)


def outside(i: Scalar) -> Scalar:
    return binary("or", binary("lt", i, 4), binary("ge", i, 9))


X, FLAGS, PLACES = argument("x", 5), argument("flags", 13), argument("places", 13, "int64")
ZERO = literal(0.0, "float32")
GUARDS = {
    "a border": lambda i, j: select(outside(i), ZERO, X[i - 4]),
    "a border, the other side": lambda i, j: select(
        binary("and", binary("ge", i, 4), binary("lt", i, 9)), X[i - 4] * 2.0, ZERO
    ),
    "what an element says": lambda i, j: select(
        binary("gt", FLAGS[i], 0.0), X[i % 5], literal(3.0, "float32")
    ),
    "a place that an element says": lambda i, j: select(
        binary("ge", PLACES[i], 0), X[PLACES[i]], ZERO
    ),
    "one place for all lanes": lambda i, j: select(
        binary("and", binary("lt", i, 6), binary("ge", j, 1)), X[7 - j * 3], ZERO
    ),
    "one place far away": lambda i, j: select(
        binary("and", binary("lt", i, 99), binary("ge", j, 3)), X[j * 5000], FLAGS[i]
    ),
    "the loop around it": lambda i, j: select(binary("lt", j, 2), X[j * 4] + FLAGS[i], FLAGS[i]),
    "an element for all lanes": lambda i, j: select(
        binary("gt", FLAGS[j], 0.0), X[i % 5], X[i % 3] * 2.0
    ),
    "one within another": lambda i, j: select(
        binary("ge", i, 4),
        select(binary("lt", i, 9), X[i - 4], FLAGS[i - 4]),
        select(binary("lt", j, 1), X[i], FLAGS[i + 5]),
    ),
    "a load in a condition of a branch": lambda i, j: select(
        binary("lt", i, 5), select(binary("gt", X[i], 0.0), X[4 - i], ZERO), ZERO
    ),
    "every second at half the place": lambda i, j: select(
        binary("and", binary("eq", i % 2, 0), binary("lt", i, 10)), X[i // 2], ZERO
    ),
    "a stride": lambda i, j: select(binary("lt", i, 2), X[i * 4], ZERO),
}


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("lanes", [0, 8])
def test_loads_that_do_not_count_are_not_performed(guard, lanes):
    i, j, y = Axis("i", 13), Axis("j", 3), argument("y", (3, 13))

    def write(index: Scalar) -> Statement:
        return Store(y, (j, index), GUARDS[guard](index, j))

    body = loop(j, vectors(i, lanes, write) if lanes else loop(i, write(i)))
    flags = np.where(np.arange(13) % 3 == 1, -1.0, np.arange(13)).astype("float32")
    indices = np.array([0, -7, 4, 1, -10000, 2, 3, 0, -1, 4, 4, 1, -5])
    check(body, {X: data(5, "float32"), FLAGS: flags, PLACES: indices, y: np.zeros((3, 13), "f4")})


@pytest.mark.parametrize("lanes", [0, 8])
def test_a_side_takes_what_the_condition_has_loaded(lanes):
    """The side needs no load under a mask (the condition's inverse here), nor a jump."""
    x, indices, y = argument("x", 7), argument("places", 13, "int64"), argument("y", 13)

    def write(i: Scalar) -> Statement:
        element = x[indices[i]]
        return Store(y, (i,), select(binary("gt", element, 0.0), element, element * 2.0))

    body = vectors(Axis("i", 13), lanes, write) if lanes else loop(i := Axis("i", 13), write(i))
    arrays = {x: data(7, "float32"), indices: np.arange(13) * 3 % 7, y: np.zeros(13, "f4")}
    check(body, arrays)
    parameters = touched_tensors(body)
    text = module_text([Kernel("kernel", parameters, parameters, body)], BASELINE)
    assert " xor " not in text and "phi float" not in text


REDUCED = [
    (operation, dtype)
    for dtype in ("float32", "float64", "int8", "uint8", "int32", "int64", "bool")
    for operation in (("max", "min") if dtype == "bool" else ("sum", "prod", "max", "min"))
]


@pytest.mark.parametrize(("operation", "dtype"), REDUCED)
@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_reductions_along_the_lanes(operation, dtype, lanes):
    row, lane = Axis("row", 5), Axis("lane", lanes)
    x, y = argument("x", (5, lanes), dtype), argument("y", 5, dtype)
    total = LaneReduce(operation, lane, (x[row, lane],), dtype=dtype)
    values = data(5 * lanes, dtype).reshape(5, lanes)
    values[4] = neutral_element(operation, dtype)
    arrays = {x: values, y: np.zeros(5, numpy_dtype(dtype))}
    found = run_native(loop(row, Store(y, (row,), total)), arrays)[y]
    np.testing.assert_array_equal(found, apply_reduction(operation, values, (1,)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(("count", "lanes"), [(2, 4), (3, 8), (8, 8), (5, 16)])
def test_rows_are_reduced_to_the_lanes_of_a_vector(count, lanes, dtype):
    row, lane = Axis("row", count), Axis("lane", lanes)
    x, y = argument("x", (count, lanes), dtype), argument("y", count, dtype)
    rows = tuple(x[number(row_index), lane] for row_index in range(count))
    store = Store(y, (row,), LaneReduce("sum", lane, rows, dtype=dtype))
    values = data(count * lanes, dtype).reshape(count, lanes)
    arrays = {x: values, y: np.zeros(count, numpy_dtype(dtype))}
    found = run_native(loop(row, store, kind=LoopKind.VECTOR), arrays)[y]
    np.testing.assert_array_equal(found, values.sum(1))


def test_products_are_added_as_they_stand():
    i, x, y = Axis("i", 9), argument("x", 9), argument("y", 9)
    squared = x[i] * x[i]
    body = loop(i, Store(y, (i,), squared + (squared - 3.0 * x[i]) * 2.0), kind=LoopKind.SERIAL)
    check(body, {x: data(9, "float32"), y: np.zeros(9, "float32")})


def test_axes_are_values_too():
    i, j, y = Axis("i", 11), Axis("j", 4), argument("y", (4, 11), "int64")
    body = loop(
        j, vectors(i, 8, lambda at: Store(y, (j, at), at * 10 - j * j + binary("max", at, j) % 3))
    )
    check(body, {y: np.zeros((4, 11), "int64")})
