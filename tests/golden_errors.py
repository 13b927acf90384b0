"""Messages beside what provokes them: compared, or written anew after a change of wording."""

from __future__ import annotations

import os
from pathlib import Path

UPDATE = "RELAY_TUNE_UPDATE_ERRORS"


def assert_golden(message: str, golden: Path) -> None:
    """The message must be what the file says; with the variable UPDATE set it is written there."""
    if os.environ.get(UPDATE):
        golden.write_text(message)
    assert message == golden.read_text()
