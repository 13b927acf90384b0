"""Relations of reductions."""

import pytest

from relay_tune.ir.dim import Symbol
from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import IncompleteType
from relay_tune.typing.relations import reduction as relations
from tests.typing.relations.cases import applied, tensor

apply = applied(relations)
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
]

CONFLICTS = [
    ("reduce", [tensor(2, 3)], reduction((2,)), "axis 2 is out of range"),
]


@pytest.mark.parametrize(("name", "inputs", "attributes", "expected"), CASES)
def test_result(name, inputs, attributes, expected):
    assert apply(name, inputs, attributes) == expected


@pytest.mark.parametrize(("name", "inputs", "attributes", "message"), CONFLICTS)
def test_conflict(name, inputs, attributes, message):
    with pytest.raises(RelationError, match=message):
        apply(name, inputs, attributes)


@pytest.mark.parametrize(("name", "inputs", "attributes"), [case[:3] for case in CASES])
def test_waits_for_unknown_data(name, inputs, attributes):
    if inputs:
        assert apply(name, [IncompleteType(), *inputs[1:]], attributes) is None
