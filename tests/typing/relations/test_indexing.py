"""Relations of reads and writes by position."""

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.ir.dim_arithmetic import add, floor_divide, multiply, subtract
from relay_tune.typing.relations import indexing as relations
from tests.typing.relations.cases import relation_tests, tensor, tuple_of

N = Symbol("n")
TWO_LESS = add(multiply(2, N), -2)


def part(begin, end, strides=None, axes=None, slice_mode="end"):
    return {
        "begin": begin,
        "end": end,
        "strides": strides,
        "axes": axes,
        "slice_mode": slice_mode,
    }


def indices(*shape):
    return tensor(*shape, dtype="int32")


CASES = [
    ("strided_slice", [tensor(10, 4)], part((1, 0), (-1, 99)), tensor(8, 4)),
    ("strided_slice", [tensor(10, 4)], part((9,), (-11,), (-2,)), tensor(5, 4)),
    ("strided_slice", [tensor(10, 4)], part((1,), (3,), axes=(-1,)), tensor(10, 2)),
    ("strided_slice", [tensor(10)], part((2,), (-1,), slice_mode="size"), tensor(8)),
    ("strided_slice", [tensor(10)], part((2,), (3,), slice_mode="size"), tensor(3)),
    ("strided_slice", [tensor(N)], part((0,), (2**31 - 1,)), tensor(N)),
    ("strided_slice", [tensor(add(N, -2))], part((0,), (2**31 - 1,)), tensor(add(N, -2))),
    (
        "strided_slice",
        [tensor(N, add(N, -2))],
        part((0, 0), (2, None)),
        tensor(UNKNOWN, add(N, -2)),
    ),
    ("strided_slice", [tensor(N)], part((1,), (2**31 - 1,)), tensor(add(N, -1))),
    ("strided_slice", [tensor(add(N, 1))], part((1,), (-1,)), tensor(add(N, -1))),
    ("strided_slice", [tensor(multiply(2, N))], part((2,), (2**31 - 1,)), tensor(TWO_LESS)),
    ("strided_slice", [tensor(N)], part((1,), (-1,)), tensor(UNKNOWN)),
    ("strided_slice", [tensor(floor_divide(N, 2))], part((1,), (None,)), tensor(UNKNOWN)),
    ("strided_slice", [tensor(subtract(9, N))], part((1,), (None,)), tensor(UNKNOWN)),
    ("strided_slice", [tensor(N)], part((-1,), (None,)), tensor(1)),
    ("strided_slice", [tensor(N)], part((-3,), (None,)), tensor(UNKNOWN)),
    ("strided_slice", [tensor(N)], part((0,), (5,)), tensor(UNKNOWN)),
    ("strided_slice", [tensor(UNKNOWN)], part((1,), (5,)), tensor(UNKNOWN)),
    ("strided_set", [tensor(3), tensor(2)], part((1,), (None,)), tensor(3)),
    ("strided_set", [tensor(N), tensor(UNKNOWN)], part((0,), (5,)), tensor(N)),
    ("slice_like", [tensor(5, 6), tensor(2, 3)], {"axes": None}, tensor(2, 3)),
    ("slice_like", [tensor(5, 6), tensor(2, 3)], {"axes": (1,)}, tensor(5, 3)),
    ("take", [tensor(5, N), indices(2, 3)], {"axis": 0, "batch_dims": 0}, tensor(2, 3, N)),
    ("take", [tensor(5, N), indices(2, 3)], {"axis": None, "batch_dims": 0}, tensor(2, 3)),
    ("take", [tensor(2, 5), indices(2, 3)], {"axis": 1, "batch_dims": 1}, tensor(2, 3)),
    ("gather", [tensor(5, 6), indices(5, 2)], {"axis": 1}, tensor(5, 2)),
    ("gather_nd", [tensor(5, 6, N), indices(2, 7)], {"batch_dims": 0}, tensor(7, N)),
    ("gather_nd", [tensor(5, 6, 7), indices(1, 5)], {"batch_dims": 1}, tensor(5, 7)),
    (
        "gather_nd",
        [tensor(5, 6), indices(UNKNOWN, 3)],
        {"batch_dims": 0, "index_rank": 1},
        tensor(3, 6),
    ),
    ("scatter_elements", [tensor(5), indices(2), tensor(2)], {"axis": 0}, tensor(5)),
    ("scatter_nd", [tensor(5, 6), indices(1, 2), tensor(2, 6)], {}, tensor(5, 6)),
    (
        "one_hot",
        [indices(2, N), tensor(), tensor()],
        {"depth": 9, "axis": -1, "dtype": "int8"},
        tensor(2, N, 9, dtype="int8"),
    ),
    (
        "one_hot",
        [indices(2), tensor(), tensor()],
        {"depth": 9, "axis": 0, "dtype": "int8"},
        tensor(9, 2, dtype="int8"),
    ),
    ("advanced_index", [tuple_of(tensor(5, 6, 7), indices(2, 1), indices(3))], {}, tensor(2, 3, 7)),
    ("sequence_mask", [tensor(5, 6), indices(6)], {"axis": 0}, tensor(5, 6)),
    ("unravel_index", [indices(7), indices(2)], {}, indices(2, 7)),
    ("argwhere", [tensor(5, 6)], {}, indices(UNKNOWN, 2)),
    ("matrix_set_diagonal", [tensor(5, 6), tensor(5)], {}, tensor(5, 6)),
    ("matrix_set_diagonal", [tensor(5, 6), tensor(4)], {"k": 2}, tensor(5, 6)),
    ("matrix_set_diagonal", [tensor(5, 6), tensor(0)], {"k": -7}, tensor(5, 6)),
    ("matrix_set_diagonal", [tensor(5, 6), tensor(3, 5)], {"k": (-1, 1)}, tensor(5, 6)),
    ("matrix_set_diagonal", [tensor(N, N), tensor(N)], {}, tensor(N, N)),
]

CONFLICTS = [
    ("strided_slice", [tensor(5)], part((0, 0), (1, 1)), "axis 1 is out of range"),
    ("strided_slice", [tensor(5)], part((0,), (1,), (0,)), "stride of axis 0 is 0"),
    ("slice_like", [tensor(2), tensor(3)], {"axes": None}, "less than 3"),
    ("take", [tensor(5), tensor(2)], {"axis": 0}, "indices must be integers"),
    ("matrix_set_diagonal", [tensor(5, 6), tensor(5, 6)], {}, "of 2 dimensions have 1"),
    ("matrix_set_diagonal", [tensor(5, 6), tensor(5)], {"k": (0, 1)}, "of 2 dimensions have 2"),
    ("matrix_set_diagonal", [tensor(5), tensor()], {}, "matrix_set_diag"),
    ("matrix_set_diagonal", [tensor(5, 6), tensor(4)], {}, "dimension 0 of the second is 5"),
    ("matrix_set_diagonal", [tensor(5, 6), tensor(2, 5)], {"k": (1, 0)}, r"but is \(1, 0\)"),
    ("matrix_set_diagonal", [tensor(5, 6), tensor(5)], {"align": "LEFT"}, "align must be one of"),
    ("strided_set", [tensor(3), tensor(2)], part((0,), (None,)), "dimension 0 of the second is 3"),
    ("strided_set", [tensor(3), tensor(3, dtype="int8")], part((0,), (3,)), "int8"),
    ("gather", [tensor(5, 6), indices(2)], {"axis": 0}, "number of dimensions"),
    ("gather", [tensor(5, 6), indices(6, 2)], {"axis": 1}, "dimension 0 is 5, less than 6"),
    ("gather_nd", [tensor(5), indices(2, 3)], {"batch_dims": 0}, "2 coordinates for 1"),
    ("gather_nd", [tensor(5, 6), indices(1, 4)], {"batch_dims": 1}, "of the second is 4"),
    ("take", [tensor(2, 5), indices(3, 4)], {"axis": 1, "batch_dims": 1}, "of the second is 3"),
    ("scatter_nd", [tensor(5, 6), indices(1, 2), tensor(2, 7)], {}, "of the second is 6"),
    ("sequence_mask", [tensor(5, 6), indices(5)], {"axis": 0}, "of the second is 5"),
    (
        "scatter_elements",
        [tensor(5), indices(2), tensor(2, dtype="int8")],
        {"axis": 0},
        "float32 does not match int8",
    ),
    (
        "scatter_elements",
        [tensor(5, 6), indices(2, 7), tensor(2, 7)],
        {"axis": 0},
        "dimension 1 is 6, less than 7",
    ),
    (
        "scatter_elements",
        [tensor(5, 6), indices(2, 3), tensor(2, 2)],
        {"axis": 0},
        "dimension 1 is 2, less than 3",
    ),
]

test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
