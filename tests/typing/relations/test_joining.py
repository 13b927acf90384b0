"""Relations of joining and splitting."""

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.ir.dim_arithmetic import add
from relay_tune.typing.relations import joining as relations
from tests.typing.relations.cases import relation_tests, tensor, tuple_of

N = Symbol("n")

CASES = [
    ("concatenate", [tuple_of(tensor(2, N), tensor(3, N))], {"axis": 0}, tensor(5, N)),
    ("concatenate", [tuple_of(tensor(2, N), tensor(2, 3))], {"axis": -1}, tensor(2, add(N, 3))),
    ("concatenate", [tuple_of(tensor(UNKNOWN), tensor(3))], {"axis": 0}, tensor(UNKNOWN)),
    ("concatenate", [tuple_of(tensor(2, UNKNOWN), tensor(3, 4))], {"axis": 0}, tensor(5, 4)),
    ("stack", [tuple_of(tensor(2, 3), tensor(2, 3))], {"axis": -1}, tensor(2, 3, 2)),
    ("stack", [tuple_of(tensor(2, 3), tensor(2, 3))], {"axis": 1}, tensor(2, 2, 3)),
    (
        "split",
        [tensor(6, N)],
        {"indices_or_sections": 3, "axis": 0},
        tuple_of(tensor(2, N), tensor(2, N), tensor(2, N)),
    ),
    (
        "split",
        [tensor(6)],
        {"indices_or_sections": (1, 4), "axis": -1},
        tuple_of(tensor(1), tensor(3), tensor(2)),
    ),
    (
        "split",
        [tensor(N)],
        {"indices_or_sections": (2,), "axis": 0},
        tuple_of(tensor(2), tensor(add(N, -2))),
    ),
]

CONFLICTS = [
    ("concatenate", [tuple_of(tensor(2, 3), tensor(2, 4))], {"axis": 0}, "dimension 1 is 3 and 4"),
    ("concatenate", [tuple_of(tensor(2), tensor(2, 4))], {"axis": 0}, "1 and 2 dimensions"),
    ("concatenate", [tuple_of()], {"axis": 0}, "empty tuple"),
    ("concatenate", [tensor(2)], {"axis": 0}, "expects a tuple"),
    ("stack", [tuple_of(tensor(2), tensor(3))], {"axis": 0}, "dimension 0 is 2 and 3"),
    ("split", [tensor(7)], {"indices_or_sections": 2, "axis": 0}, "2 equal parts"),
    ("split", [tensor(7)], {"indices_or_sections": (4, 2), "axis": 0}, "do not ascend"),
]

test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
