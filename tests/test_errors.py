"""What an error shows of the source that it is about."""

from __future__ import annotations

from itertools import pairwise

import pytest

from relay_tune.errors import ParseError, fix_sizes, telling
from relay_tune.frontend.relay_text import parse


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: float32) { " + "(" * 9000 + "%y" + ")" * 9000 + " }",
        "def @main(%x: float32) { %y + " + "%x + " * 9000 + "%x }",
        "def @main(%x: float32) { %x } " + " " * 9000 + "%y" * 9000,
    ],
)
def test_of_long_lines_what_is_around_the_fault(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    message = str(caught.value)
    assert len(message) < 1000
    line, marker = next(pair for pair in pairwise(message.splitlines()) if "^" in pair[1])
    assert line[marker.index("^") :].startswith("%y")


def test_fixed_sizes_are_proposed_for_the_inputs_that_tell_all() -> None:
    shapes = {"x": (2, "n"), "a": ("p", 4), "b": ("p", "n"), "c": ("?", 4), "d": ("?",), "e": (3,)}
    assert telling(shapes) == ["x", "a", "c", "d"]
    assert "--shape x=2,128 --shape a=1,4 --shape c=1,4 --shape d=1 on" in fix_sizes(shapes)
