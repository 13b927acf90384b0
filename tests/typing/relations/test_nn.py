"""Relations of normalisations and vectors a channel."""

from types import SimpleNamespace

import pytest

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.ir.types import IncompleteType
from relay_tune.typing.relations import nn as relations
from relay_tune.typing.solver import Solver
from tests.typing.relations.cases import relation_tests, tensor, tuple_of

N = Symbol("n")

AXIS = {"axis": 1}
NONE = {"reduction": "none"}
TARGETS = tensor(2, dtype="int32")
IMAGE = tensor(2, 8, N)
CASES = [
    (
        "batch_norm",
        [IMAGE, *[tensor(8)] * 4],
        AXIS,
        tuple_of(IMAGE, tensor(8), tensor(8)),
    ),
    ("layer_norm", [IMAGE, tensor(N), tensor(N)], {"axis": -1}, IMAGE),
    ("bias_add", [IMAGE, tensor(8)], AXIS, IMAGE),
    ("bias_add", [IMAGE, tensor(UNKNOWN)], AXIS, IMAGE),
    ("prelu", [IMAGE, tensor(8)], AXIS, IMAGE),
    ("group_norm", [IMAGE, tensor(8), tensor(8)], AXIS | {"num_groups": 4}, IMAGE),
    ("softmax", [IMAGE], AXIS, IMAGE),
    (
        "nll_loss",
        [tensor(2, 8), tensor(2, dtype="int32"), tensor(8)],
        {"reduction": "mean"},
        tensor(),
    ),
    ("cross_entropy", [tensor(2, 8), tensor(2, 8)], {}, tensor()),
]

CONFLICTS = [
    ("bias_add", [IMAGE, tensor(9)], AXIS, "dimension 0 of the first is 9"),
    ("bias_add", [IMAGE, tensor(8, 1)], AXIS, "2 and 1 dimensions"),
    ("bias_add", [IMAGE, tensor(8)], {"axis": 3}, "axis 3 is out of range"),
    ("group_norm", [IMAGE, tensor(8), tensor(8)], AXIS | {"num_groups": 3}, "3 groups"),
    ("nll_loss", [tensor(2, 8), tensor(2), tensor(8)], NONE, "indices must be integers"),
    ("nll_loss", [tensor(2), TARGETS, tensor(2)], NONE, "no axis of classes"),
    ("nll_loss", [tensor(2, 8), TARGETS, tensor()], NONE, "expects 1 dimension"),
    ("nll_loss", [tensor(2, 8), TARGETS, tensor(7)], NONE, "8 classes and 7 weights"),
]


@pytest.mark.parametrize(("name", "count"), [("batch_norm", 4), ("layer_norm", 2), ("bias_add", 1)])
def test_vectors_are_solved(name, count):
    solver, vectors = Solver(), [IncompleteType() for _ in range(count)]
    getattr(relations, name)([IMAGE, *vectors], SimpleNamespace(axis=1), solver)
    assert [solver.resolve(vector) for vector in vectors] == [tensor(8)] * count


test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
