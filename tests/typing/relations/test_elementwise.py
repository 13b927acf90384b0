"""Relations of element-by-element operators."""

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.typing.relations import elementwise as relations
from tests.typing.relations.cases import relation_tests, tensor, tuple_of

N = Symbol("n")

CASES = [
    ("identity", [tensor(2, N)], {}, tensor(2, N)),
    ("predicate", [tensor(2, N)], {}, tensor(2, N, dtype="bool")),
    ("cast", [tensor(2)], {"dtype": "int8"}, tensor(2, dtype="int8")),
    ("cast_like", [tensor(2), tensor(dtype="int8")], {}, tensor(2, dtype="int8")),
    ("identity_along_axis", [tensor(2, 3)], {"axis": -1}, tensor(2, 3)),
    ("broadcast", [tensor(3, 1), tensor(4)], {}, tensor(3, 4)),
    ("broadcast", [tensor(), tensor(N, 4)], {}, tensor(N, 4)),
    ("broadcast", [tensor(N, 1), tensor(N, N)], {}, tensor(N, N)),
    ("broadcast", [tensor(UNKNOWN, 1), tensor(5, UNKNOWN)], {}, tensor(5, UNKNOWN)),
    ("broadcast", [tensor(UNKNOWN), tensor(1)], {}, tensor(UNKNOWN)),
    ("broadcast_comparison", [tensor(3), tensor(1)], {}, tensor(3, dtype="bool")),
    (
        "broadcast_logical",
        [tensor(3, dtype="bool"), tensor(1, dtype="bool")],
        {},
        tensor(3, dtype="bool"),
    ),
    ("select", [tensor(2, 1, dtype="bool"), tensor(3), tensor()], {}, tensor(2, 3)),
]

CONFLICTS = [
    ("broadcast", [tensor(3, 4), tensor(3, 5)], {}, "dimension -1 is 4 and 5"),
    ("broadcast", [tensor(N), tensor(4)], {}, "dimension -1 is n and 4"),
    ("broadcast", [tensor(3), tensor(3, dtype="int8")], {}, "float32 does not match int8"),
    ("broadcast_logical", [tensor(3), tensor(3)], {}, "float32 does not match bool"),
    ("identity", [tuple_of(tensor(2))], {}, "expects a tensor"),
    ("identity_along_axis", [tensor(2, 3)], {"axis": 2}, "axis 2 is out of range"),
]

test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
