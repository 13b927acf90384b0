"""Type errors: programs in tests/errors/typing/NAME.relay, their messages in NAME.err.

To write the messages anew after a change of wording: RELAY_TUNE_UPDATE_ERRORS=1 pytest this file,
then read the difference.
"""

from pathlib import Path

import pytest

import relay_tune.op  # noqa: F401
from relay_tune.errors import TypeInferenceError
from relay_tune.ir.parser.parse import parse
from relay_tune.typing.infer import infer_types
from tests.golden_errors import assert_golden

PROGRAMS = sorted((Path(__file__).parents[1] / "errors" / "typing").glob("*.relay"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_message(path):
    with pytest.raises(TypeInferenceError) as caught:
        infer_types(parse(path.read_text(), path.name))
    assert_golden(f"{caught.value}\n", path.with_suffix(".err"))


def test_there_are_programs():
    assert len(PROGRAMS) > 40
