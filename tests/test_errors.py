"""What an error shows of the source that it is about."""

from __future__ import annotations

from itertools import pairwise

import pytest

from relay_tune.errors import ParseError
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
