"""Relations of matrix products."""

from types import SimpleNamespace

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.ir.types import IncompleteType
from relay_tune.typing.relations import matmul as relations
from relay_tune.typing.solver import Solver
from tests.typing.relations.cases import relation_tests, tensor

N = Symbol("n")


def product(units=None, out_dtype="", transpose_a=False, transpose_b=False):
    return {
        "units": units,
        "out_dtype": out_dtype,
        "transpose_a": transpose_a,
        "transpose_b": transpose_b,
    }


CASES = [
    ("dense", [tensor(N, 3), tensor(5, 3)], product(), tensor(N, 5)),
    ("dense", [tensor(2, N, 3), tensor(5, 3)], product(5), tensor(2, N, 5)),
    ("dense", [tensor(2, UNKNOWN), tensor(5, 3)], product(), tensor(2, 5)),
    (
        "dense",
        [tensor(2, 3), tensor(5, 3)],
        product(out_dtype="int32"),
        tensor(2, 5, dtype="int32"),
    ),
    ("matmul", [tensor(2, 3), tensor(3, 5)], product(), tensor(2, 5)),
    ("matmul", [tensor(3, 2), tensor(5, 3)], product(None, "", True, True), tensor(2, 5)),
    ("batch_matmul", [tensor(N, 2, 3), tensor(N, 3, 5)], product(), tensor(N, 2, 5)),
    ("batch_matmul", [tensor(7, 1, 2, 3), tensor(4, 3, 5)], product(), tensor(7, 4, 2, 5)),
    (
        "batch_matmul",
        [tensor(1, 2, 3), tensor(6, 5, 3)],
        product(transpose_b=True),
        tensor(6, 2, 5),
    ),
]

CONFLICTS = [
    ("dense", [tensor(2, 3), tensor(5, 4)], product(), "first is 3, .* second is 4"),
    ("dense", [tensor(2, 3), tensor(5, 3)], product(6), "units is 6"),
    ("dense", [tensor(2, 3), tensor(5, 3, dtype="int8")], product(), "no out_dtype"),
    ("batch_matmul", [tensor(4, 2, 3), tensor(6, 3, 5)], product(), "dimension -1 is 4 and 6"),
    ("batch_matmul", [tensor(3), tensor(6, 3, 5)], product(), "at least 2 dimensions"),
]


def test_weight_is_solved():
    solver, weight = Solver(), IncompleteType()
    attributes = SimpleNamespace(**product(units=5))
    assert relations.dense([tensor(2, N), weight], attributes, solver) == tensor(2, 5)
    assert solver.resolve(weight) == tensor(5, N)


test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
