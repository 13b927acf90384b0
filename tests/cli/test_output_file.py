from __future__ import annotations

import os
from pathlib import Path

import pytest

from relay_tune.cli.output_file import require_writable, write_text
from relay_tune.errors import InputError


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    write_text(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_the_mode_is_that_of_other_files(tmp_path: Path) -> None:
    ours, other = tmp_path / "ours", tmp_path / "other"
    write_text(ours, "")
    other.write_text("")
    assert ours.stat().st_mode == other.stat().st_mode


def test_a_failure_while_writing_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match="No space left on device"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_no_matter_of_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(InputError) as caught:
        write_text(tmp_path / "page.html", "new")
    assert caught.value.remedy == "Free some disk space, or name a file on another disk."


def test_folders_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        require_writable(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        require_writable(tmp_path / "no" / "file")


def test_files_that_are_needed_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").touch()
    (tmp_path / "link").symlink_to(tmp_path / "model.onnx")
    for name in ("model.onnx", "link", "folder/../model.onnx"):
        with pytest.raises(InputError, match="also needs it"):
            require_writable(tmp_path / "model.onnx", None, str(tmp_path / name))
    require_writable(tmp_path / "model.so", None, str(tmp_path / "model.onnx"))
