"""Relations of joining and splitting."""

import pytest

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.ir.dim_arithmetic import add
from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import IncompleteType
from relay_tune.typing.relations import joining as relations
from tests.typing.relations.cases import applied, tensor, tuple_of

apply = applied(relations)
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
