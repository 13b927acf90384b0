"""Operators of a user: entered once, typed by their own rule, whose failure is an error."""

from collections.abc import Iterator

import pytest

from relay_tune.errors import InputError, TypeInferenceError
from relay_tune.ir import operator
from relay_tune.ir.operator import FusionKind, Operator, RelationError, find_operator, register
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import TensorType, TupleType
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text


def twice(inputs, attributes, context):
    """A tuple of the tensor that is given; vectors are refused."""
    (given,) = inputs
    if not isinstance(given, TensorType):
        return None
    if len(given.shape) == 1:
        raise RelationError("a vector cannot be doubled")
    return TupleType((given, given))


@pytest.fixture
def own() -> Iterator[Operator]:
    yield register(
        Operator(
            name="test.twice",
            arguments=("data",),
            relation=twice,
            kind=FusionKind.OPAQUE,
            reference=lambda attributes, data: (data, data),
        )
    )
    del operator._TABLE["test.twice"]


@pytest.mark.usefixtures("own")
def test_the_types_of_an_own_operator_follow_from_its_relation() -> None:
    text = "def @main(%x: Tensor[(2, 3), bool]) { test.twice(%x).1 }"
    main = infer_types(parse(text)).main
    assert type_text(main.type) == "fn (Tensor[(2, 3), bool]) -> Tensor[(2, 3), bool]"


@pytest.mark.usefixtures("own")
def test_a_relation_that_refuses_is_an_error_with_a_location() -> None:
    text = "def @main(%x: Tensor[(3), bool]) { test.twice(%x).1 }"
    with pytest.raises(TypeInferenceError, match="In the call of test.twice: a vector") as caught:
        infer_types(parse(text))
    assert caught.value.where is not None


def test_a_name_is_entered_once(own: Operator) -> None:
    with pytest.raises(InputError, match=r"test\.twice is registered twice"):
        register(own)
    assert find_operator("test.twice") is own
