import numpy as np
import pytest

import relay_tune as rt
from relay_tune.codegen.kernels.kernel_writer import write_kernel
from relay_tune.tensor.expression import Axis, Select, binary, literal
from relay_tune.tensor.lane_rows import move_instructions, pieces
from relay_tune.tensor.loops import Block, Kernel, Let, LoopKind, Store
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.touched import touched_tensors
from tests.codegen.running import argument, check, loop

UNROLLED, VECTOR = LoopKind.UNROLLED, LoopKind.VECTOR


def ramp(count: int, dtype: str = "float32") -> np.ndarray:
    return (np.arange(count) * 7 % 101).astype(dtype)


def zeros(count: int, dtype: str = "float32") -> np.ndarray:
    return np.zeros(count, dtype)


def transposing(rows: int, columns: int, dtype: str = "float32", *, loads: bool):
    """A tile whose loads, or stores, are scattered: the buffers and the statement."""
    i, j = Axis("i", rows), Axis("j", columns)
    size = rows * columns
    x, y = argument("x", size, dtype), argument("y", size, dtype)
    contiguous, scattered = i * columns + j, j * rows + i
    offsets = (contiguous, scattered) if loads else (scattered, contiguous)
    store = Store(y, (offsets[0],), x[offsets[1]])
    return x, y, loop(i, loop(j, store, kind=VECTOR), kind=UNROLLED)


@pytest.mark.parametrize("loads", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 4, 7, 16, 21])
@pytest.mark.parametrize("columns", [1, 5, 8, 16])
def test_tiles_are_transposed(loads, rows, columns):
    x, y, body = transposing(rows, columns, loads=loads)
    check(body, {x: ramp(rows * columns), y: zeros(rows * columns)})


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int8", "int64", "bool"])
@pytest.mark.parametrize("loads", [True, False])
def test_elements_of_every_size(dtype, loads):
    x, y, body = transposing(6, 8, dtype, loads=loads)
    check(body, {x: ramp(48).astype(numpy_dtype(dtype)), y: zeros(48).astype(numpy_dtype(dtype))})


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("rows", [2, 4])
def test_short_rows_are_stored_as_one_vector(dtype, rows):
    x, y, body = transposing(rows, 16, dtype, loads=False)
    size = 16 * rows
    check(
        body, {x: ramp(size).astype(numpy_dtype(dtype)), y: zeros(size).astype(numpy_dtype(dtype))}
    )
    parameters = touched_tensors(body)
    text = write_kernel(Kernel("kernel", parameters, parameters, body)).text
    assert text.count("store ") == text.count(f"store <{size} x ") == 1


@pytest.mark.parametrize("rows", [4, 6, 8, 16])
def test_columns_of_halves_are_chosen_by_a_condition(rows):
    module = rt.parse(f"""
    def @main(%chosen: Tensor[(3, 1, 8), bool], %x: Tensor[(3, {rows}, 8), float16]) {{
      transpose(where(%chosen, %x, %x), axes=[0, 2, 1])
    }}
    """)
    x = ramp(3 * rows * 8, "float16").reshape(3, rows, 8)
    found = rt.build(module, threads=1)(np.ones((3, 1, 8), bool), x)
    np.testing.assert_array_equal(found, x.transpose(0, 2, 1))


@pytest.mark.parametrize("stride", [2, 3, 4, 5, 9])
@pytest.mark.parametrize("lanes", [2, 7, 8, 16])
@pytest.mark.parametrize("start", [0, 3])
def test_every_nth_element(stride, lanes, start):
    j = Axis("j", lanes)
    size = start + (lanes - 1) * stride + 1
    x, y = argument("x", size), argument("y", lanes)
    body = loop(j, Store(y, (j,), x[j * stride + start]), kind=VECTOR)
    check(body, {x: ramp(size), y: zeros(lanes)})


@pytest.mark.parametrize("loads", [True, False])
def test_a_square_tile_moves_whole_vectors_only(loads):
    _, _, body = transposing(16, 16, loads=loads)
    parameters = touched_tensors(body)
    text = write_kernel(Kernel("kernel", parameters, parameters, body)).text
    assert text.count("load <16 x float>") == text.count("store <16 x float>") == 16
    assert text.count("shufflevector") == 64
    assert "load float" not in text and "store float" not in text


def test_named_positions_of_a_written_out_reduction_share_rows():
    block, step, k, j = Axis("block", 2), Axis("step", 4), Axis("k", 8), Axis("j", 16)
    x, y = argument("x", 16 * 8), argument("y", 16)
    add = Store(y, (j,), y[j] + x[j * 8 + k])
    steps = loop(step, Let(k, block * 4 + step, loop(j, add, kind=VECTOR)), kind=UNROLLED)
    body = loop(block, steps)
    check(body, {x: ramp(128), y: zeros(16)})
    parameters = touched_tensors(body)
    text = write_kernel(Kernel("kernel", parameters, parameters, body)).text
    assert text.count("load <4 x float>") == 16


def test_neighbours_that_are_not_wanted_are_not_read():
    i, j = Axis("i", 4), Axis("j", 8)
    x, y = argument("x", 8 * 3), argument("y", 8 * 4)
    value = Select(binary("lt", i, 3), x[j * 3 + i], literal(0.0, "float32"), dtype="float32")
    body = loop(i, loop(j, Store(y, (i * 8 + j,), value), kind=VECTOR), kind=UNROLLED)
    check(body, {x: ramp(24), y: zeros(32)})


def test_what_a_tile_stored_can_be_loaded():
    i, j = Axis("i", 4), Axis("j", 8)
    x, y, z = argument("x", 32), argument("y", 32), argument("z", 32)
    at = j * 4 + i
    both = Block((Store(y, (at,), x[i * 8 + j]), Store(z, (at,), y[at] * 2.0)))
    body = loop(i, loop(j, both, kind=VECTOR), kind=UNROLLED)
    check(body, {x: ramp(32), y: zeros(32), z: zeros(32)})


@pytest.mark.parametrize("columns", [4, 40])
def test_what_was_stored_between_is_loaded_again(columns):
    """In rows that are transposed, and lane by lane."""
    i, j = Axis("i", 4), Axis("j", 8)
    size = 8 * columns
    x, y, z = argument("x", size), argument("y", 32), argument("z", 32)
    column = x[j * columns + i]
    body = Block(
        (
            Store(y, (i * 8 + j,), column),
            Store(x, (j * columns + i,), column + 1.0),
            Store(z, (i * 8 + j,), column),
        )
    )
    nest = loop(i, loop(j, body, kind=VECTOR), kind=UNROLLED)
    check(nest, {x: ramp(size), y: zeros(32), z: zeros(32)})


def test_the_last_of_several_stores_to_an_element_counts():
    i, j = Axis("i", 4), Axis("j", 8)
    x, y = argument("x", 32), argument("y", 44)
    stores = Block((Store(y, (j * 4 + i,), x[i * 8 + j]), Store(y, (j * 5,), x[j] + 1.0)))
    body = loop(i, loop(j, stores, kind=VECTOR), kind=UNROLLED)
    check(body, {x: ramp(32), y: zeros(44)})


def test_stores_inside_of_loops_and_branches_of_a_tile():
    i, n, j = Axis("i", 3), Axis("n", 2), Axis("j", 8)
    x, y = argument("x", 48), argument("y", 48)
    store = Store(y, (n * 24 + j * 3 + i,), x[(n * 3 + i) * 8 + j] + 1.0)
    body = loop(i, loop(n, loop(j, store, kind=VECTOR)), kind=UNROLLED)
    check(body, {x: ramp(48), y: zeros(48)})


def test_pieces_are_powers_of_two():
    assert list(pieces(13, 16)) == [(0, 8), (8, 4), (12, 1)]
    assert list(pieces(35, 16)) == [(0, 16), (16, 16), (32, 2), (34, 1)]


def test_rows_are_cheaper_than_lanes_one_by_one():
    alone, fours, whole = (move_instructions(100, row, 16) for row in (1, 4, 16))
    assert alone == 16.0
    assert alone > fours > whole == 9.0
    assert move_instructions(1, 1, 16) == 1.0
    assert move_instructions(2, 1, 16) == 4.0
