"""Each wrong program in tests/errors/parse stands beside its message, NAME.err.

To write the messages anew after a change of wording: RELAY_TUNE_UPDATE_ERRORS=1 pytest this file,
then read the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from relay_tune.errors import ParseError, Span
from relay_tune.ir.parser.parse import parse
from tests.golden_errors import assert_golden
from tests.properties import toy_operators

PROGRAMS = sorted((Path(__file__).parents[2] / "errors" / "parse").glob("*.relay"))
assert toy_operators.ADD  # the programs use the toys


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_message(program: Path) -> None:
    with pytest.raises(ParseError) as caught:
        parse(program.read_text(), "$FILE")
    message = f"{caught.value}\n"
    assert_golden(message, program.with_suffix(".err"))
    assert isinstance(caught.value.where, Span)


def test_every_message_has_a_program() -> None:
    goldens = {path.stem for path in PROGRAMS[0].parent.glob("*.err")}
    assert goldens == {program.stem for program in PROGRAMS}
