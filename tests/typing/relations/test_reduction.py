"""Relations of reductions."""

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.typing.relations import reduction as relations
from tests.typing.relations.cases import relation_tests, tensor

N = Symbol("n")


def reduction(axis, keepdims=False, exclude=False, **more):
    return {"axis": axis, "keepdims": keepdims, "exclude": exclude, **more}


CASES = [
    ("reduce", [tensor(2, N, 4)], reduction(None), tensor()),
    ("reduce", [tensor(2, N, 4)], reduction((0, -1)), tensor(N)),
    ("reduce", [tensor(2, N, 4)], reduction(1, keepdims=True), tensor(2, 1, 4)),
    ("reduce", [tensor(2, N, 4)], reduction((1,), exclude=True), tensor(N)),
    ("reduce", [tensor(2, 3)], reduction(()), tensor(2, 3)),
    ("arg_reduce", [tensor(2, 3)], reduction(1), tensor(2, dtype="int64")),
    ("arg_reduce", [tensor(2, 3)], reduction(1, dtype="int32"), tensor(2, dtype="int32")),
    ("variance", [tensor(2, 3), tensor(2, 1)], reduction(1), tensor(2)),
    ("variance", [tensor(N, 3), tensor(UNKNOWN, 1)], reduction(1), tensor(N)),
]

CONFLICTS = [
    ("reduce", [tensor(2, 3)], reduction((2,)), "axis 2 is out of range"),
    ("variance", [tensor(2, 3), tensor(0, 1)], reduction(1), "dimension -2 is 2 and 0"),
    ("variance", [tensor(2, 1), tensor(2, 3)], reduction(1), "not broadcast to the data"),
]

test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
