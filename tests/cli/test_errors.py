"""Each wrong command in tests/errors/command stands above its message and its exit code.

To write the messages anew after a change of wording: RELAY_TUNE_UPDATE_ERRORS=1 pytest this file,
then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from relay_tune.codegen.target import native_target
from tests.cli.conftest import Tune
from tests.golden_errors import assert_golden

CONSOLES = sorted((Path(__file__).parents[1] / "errors" / "command").glob("*.console"))


@pytest.fixture
def place(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the commands run: what they name, but for what is missing."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "taken.h").mkdir()
    (tmp_path / "text.db").write_text("this is no tuning log\n")
    (tmp_path / "garbage.onnx").write_text("this is no model\n")
    (tmp_path / "empty.onnx").touch()
    (tmp_path / "foreign.json").write_text("[1, 2]\n")
    (tmp_path / "object.json").write_text("{}\n")
    (tmp_path / "helper.relay").write_text("def @helper(%x: int32) { %x }\n")
    (tmp_path / "binary.relay").write_bytes(b"\xff\xfe")
    for name in ("pipe", "pipe.onnx", "pipe.relay"):
        os.mkfifo(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def changes(folder: Path) -> dict[Path, int]:
    """When each file of a folder was changed last."""
    return {path: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.mark.parametrize("console", CONSOLES, ids=lambda console: console.stem)
def test_message(console: Path, place: Path, tune: Tune) -> None:
    command = console.read_text().splitlines()[0]
    if "/dev/full" in command and not Path("/dev/full").is_char_device():
        pytest.skip("there is no full device here")
    before = changes(place)
    outcome = tune(*command.split()[2:])
    message = outcome.err[outcome.err.index("tune") :].replace(str(native_target()), "NATIVE")
    usage, error, rest = message.rpartition("error: ")
    found = f"{command}\n{usage.splitlines()[-1]}{error}{rest}exit code {outcome.code}\n"
    assert_golden(found, console)
    assert outcome.code in (1, 2)
    assert "Traceback" not in outcome.err
    assert changes(place) == before  # nothing is written, not even half
