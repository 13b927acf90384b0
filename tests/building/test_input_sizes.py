"""What users may give as sizes of inputs."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.building.input_sizes import input_sizes
from relay_tune.errors import InputError


def test_one_mapping_or_several_with_integers_of_any_kind() -> None:
    assert input_sizes({"x": [np.int64(4), range(1, 9)]}) == ({"x": (4, range(1, 9))},)
    assert input_sizes({"n": 5, "m": range(1, 9)}) == ({"n": (5,), "m": (range(1, 9),)},)
    assert input_sizes(({"x": ()}, {"y": (0,)})) == ({"x": ()}, {"y": (0,)})


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (5, "shapes is 5"),
        ("x=3", "shapes is 'x=3'"),
        ([{"x": (1,)}, 3], "shapes has 3"),
        ({"x": "48"}, "The sizes of input 'x' are '48'"),
        ({"x": 2.5}, "The sizes of input 'x' are 2.5"),
        ({"x": True}, "is True"),
        ({"x": ("1..64", 8)}, "A size of input 'x' is '1..64'"),
        ({"x": (-3,)}, "is -3"),
        ({"x": (2.5,)}, "is 2.5"),
        ({"x": (True,)}, "is True"),
        ({"x": (None,)}, "is None"),
    ],
)
def test_other_things_are_refused(shapes: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        input_sizes(shapes)
