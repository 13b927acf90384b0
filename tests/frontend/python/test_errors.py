"""Each wrong program in tests/errors/python stands beside its message, NAME.err.

To write the messages anew after a change of wording: RELAY_TUNE_UPDATE_ERRORS=1 pytest this file,
then read the difference.
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from relay_tune.errors import RelayError, Span
from tests.golden_errors import assert_golden

PROGRAMS = sorted((Path(__file__).parents[2] / "errors" / "python").glob("*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_message(path: Path) -> None:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(RelayError) as caught:
        _ = module.program.module
    message = f"{caught.value}\n".replace(str(path), "$FILE")
    assert_golden(message, path.with_suffix(".err"))
    assert isinstance(caught.value.where, Span)


def test_every_message_has_a_program() -> None:
    goldens = {path.stem for path in PROGRAMS[0].parent.glob("*.err")}
    assert goldens == {path.stem for path in PROGRAMS}
