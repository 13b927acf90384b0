"""The order of inputs that are given by position, by name, or as one mapping."""

from collections.abc import Mapping, Sequence

import pytest

from relay_tune.errors import InputError
from relay_tune.runtime.interpreter.inputs import arguments_in_order


@pytest.mark.parametrize(
    ("positional", "named"),
    [((2, 1), {}), ((2,), {"b": 1}), ((), {"b": 1, "a": 2}), (({"b": 1, "a": 2},), {})],
)
def test_inputs_in_order(positional: Sequence[object], named: Mapping[str, object]) -> None:
    assert list(arguments_in_order(["a", "b"], positional, named)) == [2, 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [({"b": 1, "c": 2}, "no input 'c'"), ({"a": 1}, "No value was given for: b")],
)
@pytest.mark.parametrize("as_mapping", [False, True])
def test_inputs_that_are_missing(given: dict[str, object], message: str, as_mapping: bool) -> None:
    with pytest.raises(InputError, match=message):
        arguments_in_order(["a", "b"], (given,) if as_mapping else (), {} if as_mapping else given)
