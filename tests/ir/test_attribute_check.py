from typing import Any, Literal

import pytest

from relay_tune.ir.attribute_check import AttributeMismatch, fitted_to

IntOrTuple = int | tuple[int, ...]


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (int, 1, 1),
        (float, 1, 1.0),
        (bool, True, True),
        (str | None, None, None),
        (tuple[int, ...], [1, 2], (1, 2)),
        (list[int], (1, 2), [1, 2]),
        (tuple[int, float], [1, 2], (1, 2.0)),
        (IntOrTuple, 3, 3),
        (IntOrTuple, [3], (3,)),
        (int | float, 2, 2),
        (float | int, 2, 2),
        (Literal["a", "b"], "b", "b"),
        (tuple[tuple[int, ...], ...], [[1], []], ((1,), ())),
        (Any, [1], [1]),
    ],
)
def test_values_are_made_to_fit(hint: Any, value: Any, expected: Any) -> None:
    result = fitted_to(hint, value)
    assert repr(result) == repr(expected)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, True),
        (int, 1.0),
        (bool, 1),
        (str, None),
        (tuple[int, ...], 1),
        (tuple[int, ...], ["a"]),
        (tuple[int, int], [1]),
        (Literal["a"], "c"),
        (Literal[1], True),
        (int | None, "x"),
    ],
)
def test_what_does_not_fit_is_refused(hint: Any, value: Any) -> None:
    with pytest.raises(AttributeMismatch):
        fitted_to(hint, value)
