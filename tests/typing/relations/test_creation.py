"""Relations of operators that make tensors."""

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.typing.relations import creation as relations
from tests.typing.relations.cases import applied, relation_tests, tensor

apply = applied(relations)
N = Symbol("n")

CASES = [
    ("filled", [], {"shape": (2, 3), "dtype": "int8"}, tensor(2, 3, dtype="int8")),
    ("full", [tensor()], {"shape": (2,), "dtype": ""}, tensor(2)),
    ("full_like", [tensor(2), tensor()], {}, tensor(2)),
    (
        "filled_dynamic",
        [tensor(2, dtype="int64")],
        {"dtype": "float32"},
        tensor(UNKNOWN, UNKNOWN),
    ),
    ("shaped_by_value", [tensor(N), tensor(1, dtype="int64")], {}, tensor(UNKNOWN)),
    (
        "arange",
        [],
        {"start": 0, "stop": 7, "step": 2, "dtype": "int32"},
        tensor(4, dtype="int32"),
    ),
    ("shape_of", [tensor(N, 3)], {"dtype": "int64"}, tensor(2, dtype="int64")),
    ("size_of", [tensor(N, 3)], {"dtype": "int32"}, tensor(dtype="int32")),
    (
        "random",
        [tensor(N, 3, dtype="int64"), tensor(dtype="uint32")],
        {"dtype": "float16"},
        tensor(N, 3, dtype="float16"),
    ),
]

CONFLICTS = [
    ("full", [tensor(2)], {"shape": (), "dtype": ""}, "expects 0 dimension"),
    ("arange", [], {"start": 0, "stop": 7, "step": 0, "dtype": "int32"}, "step of arange is 0"),
    ("shaped_by_value", [tensor(2), tensor(N)], {}, "number of dimensions is not known"),
    ("random", [tensor(2), tensor(dtype="int64")], {"dtype": "float32"}, "are integers"),
    ("random", [tensor(2, dtype="int64")] * 2, {"dtype": "int32"}, "of a float type"),
]


def test_arange_of_tensors_has_an_unknown_size():
    inputs = [tensor(dtype="int32")] * 3
    assert apply("arange", inputs, {"dtype": "int32"}) == tensor(UNKNOWN, dtype="int32")


test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
