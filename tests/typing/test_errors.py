"""Type errors: programs in errors/NAME.relay, the messages they cause in errors/NAME.txt."""

from pathlib import Path

import pytest

from relay_tune.errors import TypeInferenceError
from relay_tune.ir.parser import parse
from relay_tune.typing.infer import infer_types

PROGRAMS = sorted(Path(__file__).with_name("errors").glob("*.relay"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_message(path):
    with pytest.raises(TypeInferenceError) as caught:
        infer_types(parse(path.read_text(), path.name))
    assert str(caught.value) + "\n" == path.with_suffix(".txt").read_text()


def test_there_are_programs():
    assert len(PROGRAMS) > 20
