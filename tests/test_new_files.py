"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from relay_tune import new_files as module
from relay_tune.new_files import new_files

WITH_AND_WITHOUT_NAMES = pytest.mark.parametrize("has_names", [False, True])


@pytest.fixture
def has_names() -> bool:
    return False


@pytest.fixture(autouse=True)
def _named(has_names: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems without files that have no name."""
    if has_names:
        monkeypatch.delattr(module.os, "O_TMPFILE", raising=False)


@WITH_AND_WITHOUT_NAMES
def test_files_appear_together_at_the_end(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("old")
    with new_files(first, second) as (one, two):
        one.write(b"new")
        two.write(b"other")
        assert first.read_text() == "old" and not second.exists()
    assert (first.read_text(), second.read_text()) == ("new", "other")
    assert len(list(tmp_path.iterdir())) == 2


@WITH_AND_WITHOUT_NAMES
def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), new_files(path) as (file,):
        file.write(b"new")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@WITH_AND_WITHOUT_NAMES
def test_durable_files_are_on_the_disk_before_they_have_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, stored = tmp_path / "file", []

    def note(handle: int) -> None:
        stored.append((os.readlink(f"/proc/self/fd/{handle}"), path.exists()))

    monkeypatch.setattr(module.os, "fsync", note)
    with new_files(path, durable=True) as (file,):
        file.write(b"new")
    assert [exists for _, exists in stored] == [False, True]
    assert stored[1][0] == str(tmp_path)


@WITH_AND_WITHOUT_NAMES
def test_who_has_the_old_file_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with path.open() as old:
        with new_files(path) as (file,):
            file.write(b"new")
        assert old.read() == "old"


@WITH_AND_WITHOUT_NAMES
def test_permissions_are_those_of_new_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    mask = os.umask(0o027)
    try:
        with new_files(path, permissions=0o777):
            pass
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o750


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), new_files(tmp_path / "missing" / "file"):
        pass


def test_a_long_name(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    with new_files(path):
        pass
    assert path.exists()


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without a name")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\n"
        "from relay_tune.new_files import new_files\n"
        "with new_files(Path(sys.argv[1])) as (file,):\n"
        "    file.write(bytes(1000000)); file.flush(); print('written', flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "file")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "written\n"
        process.send_signal(number)
        process.wait(timeout=30)
    deadline = time.monotonic() + 5
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not list(tmp_path.iterdir())
