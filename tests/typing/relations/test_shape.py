"""Relations of operators that rearrange axes."""

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.ir.dim_arithmetic import add, multiply
from relay_tune.typing.relations import shape as relations
from tests.typing.relations.cases import relation_tests, tensor, tuple_of

N = Symbol("n")


def newshape(*codes, allowzero=False):
    return {"newshape": codes, "allowzero": allowzero}


CASES = [
    ("reshape", [tensor(2, 3, 4)], newshape(4, -1), tensor(4, 6)),
    ("reshape", [tensor(2, 3, 4)], newshape(0, -1), tensor(2, 12)),
    ("reshape", [tensor(2, 3, 4)], newshape(-2), tensor(2, 3, 4)),
    ("reshape", [tensor(2, 3, 4)], newshape(-3, 0), tensor(6, 4)),
    ("reshape", [tensor(2, 3, 4)], newshape(-4, 1, -1, -2), tensor(1, 2, 3, 4)),
    ("reshape", [tensor(2, 6)], newshape(0, -4, -1, 3), tensor(2, 2, 3)),
    ("reshape", [tensor(N, 3, 4)], newshape(0, -1), tensor(N, 12)),
    ("reshape", [tensor(N, 3, 4)], newshape(-1, 12), tensor(N, 12)),
    ("reshape", [tensor(N, 3, 4)], newshape(-1), tensor(multiply(N, 12))),
    ("reshape", [tensor(N, 3, 4)], newshape(-1, 6), tensor(multiply(N, 2), 6)),
    ("reshape", [tensor(UNKNOWN, 3)], newshape(-1, 3), tensor(UNKNOWN, 3)),
    ("reshape", [tensor(UNKNOWN, 3)], newshape(0, -1), tensor(UNKNOWN, 3)),
    ("reshape", [tensor(0, 3)], newshape(3, 0, allowzero=True), tensor(3, 0)),
    (
        "reshape_like",
        [tensor(2, 12), tensor(3, 4)],
        {"lhs_begin": 1, "lhs_end": None, "rhs_begin": 0, "rhs_end": None},
        tensor(2, 3, 4),
    ),
    (
        "reshape_like",
        [tensor(UNKNOWN, 2), tensor(UNKNOWN)],
        {"lhs_begin": 0, "lhs_end": None, "rhs_begin": 0, "rhs_end": None},
        tensor(UNKNOWN),
    ),
    ("batch_flatten", [tensor(N, 3, 4)], {}, tensor(N, 12)),
    ("transpose", [tensor(2, N)], {"axes": None}, tensor(N, 2)),
    ("transpose", [tensor(2, 3, 4)], {"axes": (0, -1, 1)}, tensor(2, 4, 3)),
    ("squeeze", [tensor(1, N, 1)], {"axis": None}, tensor(N)),
    ("squeeze", [tensor(1, UNKNOWN)], {"axis": (1,)}, tensor(1)),
    ("expand_dims", [tensor(2)], {"axis": -1, "num_newaxis": 2}, tensor(2, 1, 1)),
    ("tile", [tensor(2, N)], {"reps": (3, 1, 2)}, tensor(3, 2, multiply(N, 2))),
    ("repeat", [tensor(2, 3)], {"repeats": 2, "axis": -1}, tensor(2, 6)),
    ("repeat", [tensor(2, 3)], {"repeats": 2, "axis": None}, tensor(12)),
    ("broadcast_to", [tensor(1, 3)], {"shape": (4, 2, 3)}, tensor(4, 2, 3)),
    ("broadcast_to_like", [tensor(3), tensor(2, 3)], {}, tensor(2, 3)),
    ("collapse_sum_to", [tensor(4, 3)], {"shape": (3,)}, tensor(3)),
    ("collapse_sum_like", [tensor(4, 3), tensor(1, 3)], {}, tensor(1, 3)),
    ("collapse_sum_like", [tensor(1, 3), tensor(UNKNOWN, UNKNOWN)], {}, tensor(UNKNOWN, UNKNOWN)),
    ("broadcast_to_like", [tensor(UNKNOWN, 3), tensor(1, 3)], {}, tensor(1, 3)),
    ("reverse", [tensor(4, 3)], {"axis": 1}, tensor(4, 3)),
    (
        "reverse_sequence",
        [tensor(4, 3), tensor(3, dtype="int32")],
        {"seq_axis": 0, "batch_axis": 1},
        tensor(4, 3),
    ),
    ("pad", [tensor(2, N)], {"pad_width": ((0, 0), (1, 2))}, tensor(2, add(N, 3))),
    ("dilate", [tensor(2, 3)], {"strides": (1, 2)}, tensor(2, 5)),
    ("trilu", [tensor(2, 3), tensor()], {}, tensor(2, 3)),
    (
        "sliding_window",
        [tensor(2, 5, 6)],
        {"axis": 1, "window_shape": (3, 2), "strides": (1, 2)},
        tensor(2, 3, 3, 3, 2),
    ),
    (
        "meshgrid",
        [tuple_of(tensor(2), tensor(3))],
        {"indexing": "xy"},
        tuple_of(tensor(3, 2), tensor(3, 2)),
    ),
]

CONFLICTS = [
    ("reshape", [tensor(2, 3)], newshape(4, -1), "6 elements"),
    ("reshape", [tensor(2, 3)], newshape(7), "6 elements"),
    ("reshape", [tensor(2, 3)], newshape(-1, -1), "more than one -1"),
    ("reshape", [tensor(2, 3)], newshape(2, 3, 0), "refers to dimension 2"),
    ("reshape", [tensor(2, 3)], newshape(-5), "-5 is not a size"),
    ("reshape", [tensor(2, 3)], newshape(-4, -1, -1, 3), "-4 needs two sizes"),
    ("transpose", [tensor(2, 3)], {"axes": (0, 0)}, "no permutation"),
    ("squeeze", [tensor(2, 3)], {"axis": (1,)}, "dimension 1 .* is not 1"),
    ("expand_dims", [tensor(2)], {"axis": 2, "num_newaxis": 1}, "out of range"),
    ("broadcast_to", [tensor(2, 3)], {"shape": (1, 3)}, "dimension 0 is 2, not 1"),
    ("broadcast_to", [tensor(2, 3)], {"shape": (3,)}, "more dimensions"),
    ("pad", [tensor(2, 3)], {"pad_width": ((0, 0),)}, "1 pairs"),
    ("pad", [tensor(2, 3)], {"pad_width": ((0, 0), (-3, 1)), "pad_mode": "edge"}, "no elements"),
    ("trilu", [tensor(2), tensor()], {}, "at least 2 dimensions"),
]

test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
