"""What the tests of type relations share: types in few words, and what each relation must do."""

from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import IncompleteType, TensorType, TupleType
from relay_tune.typing.solver import Solver

Case = tuple[str, list[Any], dict[str, Any], Any]
"""The name of a relation, the types of the inputs, the attributes, and what comes of them: the
type of the result, or a part of the message of the conflict."""


def tensor(*shape, dtype="float32"):
    return TensorType(shape, dtype)


def tuple_of(*fields):
    return TupleType(fields)


def applied(relations: ModuleType):
    """Calls the relation of a name with types and attributes."""

    def apply(name, inputs, attributes):
        return getattr(relations, name)(inputs, SimpleNamespace(**attributes), Solver())

    return apply


def relation_tests(
    relations: ModuleType, cases: Sequence[Case], conflicts: Sequence[Case]
) -> tuple[Callable[..., None], ...]:
    """The tests of the relations of a module: results, conflicts, and that the first input counts.

    A relation whose first input is not known yet gives no result.
    """
    apply = applied(relations)

    @pytest.mark.parametrize(("name", "inputs", "attributes", "expected"), cases)
    def test_result(name, inputs, attributes, expected):
        assert apply(name, inputs, attributes) == expected

    @pytest.mark.parametrize(("name", "inputs", "attributes", "message"), conflicts)
    def test_conflict(name, inputs, attributes, message):
        with pytest.raises(RelationError, match=message):
            apply(name, inputs, attributes)

    @pytest.mark.parametrize(
        ("name", "inputs", "attributes"), [case[:3] for case in cases if case[1]]
    )
    def test_waits_for_unknown_data(name, inputs, attributes):
        assert apply(name, [IncompleteType(), *inputs[1:]], attributes) is None

    return test_result, test_conflict, test_waits_for_unknown_data
