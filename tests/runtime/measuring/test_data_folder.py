from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from relay_tune.runtime.measuring.data_folder import ABANDONED_SECONDS, PREFIX, data_folder


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_gone_after_the_block(parent: Path) -> None:
    with data_folder() as folder:
        (folder / "weights.npy").write_bytes(b"w")
        assert folder.parent == parent
    assert not any(parent.iterdir())


def test_what_a_killed_process_left_is_removed_when_it_is_old(parent: Path) -> None:
    for name in (f"{PREFIX}old", f"{PREFIX}new", "relay_tune_of_somebody"):
        (parent / name).mkdir()
        (parent / name / "weights.npy").write_bytes(b"w")
    past = time.time() - 2 * ABANDONED_SECONDS
    for name in (f"{PREFIX}old", "relay_tune_of_somebody"):
        os.utime(parent / name, (past, past))
    with data_folder():
        pass
    assert {folder.name for folder in parent.iterdir()} == {
        f"{PREFIX}new",
        "relay_tune_of_somebody",
    }
