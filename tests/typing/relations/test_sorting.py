"""Relations of sorting, searching and scans."""

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.typing.relations import sorting as relations
from tests.typing.relations.cases import relation_tests, tensor, tuple_of

N = Symbol("n")


def top(k, ret_type="both"):
    return {"k": k, "axis": -1, "ret_type": ret_type, "dtype": "int32"}


CASES = [
    ("sort", [tensor(2, N)], {"axis": -1}, tensor(2, N)),
    ("argsort", [tensor(2, N)], {"axis": 0, "dtype": "int32"}, tensor(2, N, dtype="int32")),
    ("topk", [tensor(2, 9)], top(3), tuple_of(tensor(2, 3), tensor(2, 3, dtype="int32"))),
    ("topk", [tensor(2, N)], top(0, "values"), tensor(2, N)),
    ("topk", [tensor(2, 9)], top(3, "indices"), tensor(2, 3, dtype="int32")),
    ("topk_dynamic", [tensor(2, 9), tensor(dtype="int32")], top(1, "values"), tensor(2, UNKNOWN)),
    ("cumulative", [tensor(2, 3)], {"axis": 0, "dtype": None}, tensor(2, 3)),
    ("cumulative", [tensor(2, 3)], {"axis": None, "dtype": "int32"}, tensor(6, dtype="int32")),
    ("searchsorted", [tensor(5), tensor(2)], {"dtype": "int32"}, tensor(2, dtype="int32")),
    (
        "unique",
        [tensor(5)],
        {"return_counts": False},
        tuple_of(
            tensor(UNKNOWN),
            tensor(UNKNOWN, dtype="int32"),
            tensor(5, dtype="int32"),
            tensor(1, dtype="int32"),
        ),
    ),
]

CONFLICTS = [
    ("topk", [tensor(2, 3)], top(4), "k is 4"),
    ("topk", [tensor(2, 3)], top(1, "all"), 'not "all"'),
    ("unique", [tensor(2, 3)], {"return_counts": False}, "expects 1 dimension"),
]

test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
