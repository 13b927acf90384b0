from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import logs
from tests.cli.conftest import TARGET, Tune


@pytest.mark.parametrize("action", ["list", "best", "merge", "export", "import", "check"])
def test_every_action_has_help_with_an_example_of_itself(tune: Tune, action: str) -> None:
    outcome = tune("log", action, "--help")
    assert outcome.code == 0
    assert f"example: tune log {action} tuning.db" in outcome.out


def test_list_names_tasks_and_best_times(tune: Tune, log: Path) -> None:
    outcome = tune("log", "list", log)
    assert outcome.code == 0
    head, *rows = outcome.out.splitlines()
    assert head.split() == ["task", "target", "threads", "code", "measured", "correct", "best"]
    row = next(row for row in rows if row.startswith("dense+relu"))
    assert row.endswith("4         3        1 ms")
    assert any(row.startswith("unnamed") for row in rows)


def test_list_as_json(tune: Tune, log: Path) -> None:
    rows = json.loads(tune("log", "list", log, "--json").out)
    assert {row["workload"]: row["best_seconds"] for row in rows} == {
        "dense-4x8": 1e-3,
        "unnamed": 5e-6,
    }


def test_best_gives_the_schedule(tune: Tune, log: Path) -> None:
    assert '{"tile":3}' in tune("log", "best", log).out
    rows = json.loads(tune("log", "best", log, "--json").out)
    assert {row["schedule"] for row in rows} == {'{"tile":3}', '{"tile":1}'}


def test_export_and_import_keep_everything(tune: Tune, log: Path, tmp_path: Path) -> None:
    lines, other = tmp_path / "log.jsonl", tmp_path / "other.db"
    assert tune("log", "export", log, lines).code == 0
    assert "5 added, 0 replaced, 0 kept" in tune("log", "import", other, lines).out
    with logs.open_log(log) as left, logs.open_log(other) as right:
        assert list(left.history()) == list(right.history())


def test_merge_takes_over_what_is_new(
    tune: Tune, log: Path, tmp_path: Path, record: Callable[..., logs.Record]
) -> None:
    other = tmp_path / "other.db"
    with logs.open_log(other) as opened:
        opened.append(record(9, 5e-4))
        opened.append(record(1, 4e-3))
    assert "1 added, 0 replaced, 1 kept" in tune("log", "merge", log, other).out
    with logs.open_log(log) as opened:
        best = opened.best("dense-4x8", TARGET, 2, "1")
        assert best is not None
        assert best.seconds == 5e-4


@pytest.mark.parametrize("content", [None, "no log"])
def test_merge_of_what_is_no_log_creates_nothing(
    tune: Tune, tmp_path: Path, content: str | None
) -> None:
    other = tmp_path / "other.db"
    if content is not None:
        other.write_text(content)
    outcome = tune("log", "merge", tmp_path / "new.db", other)
    assert outcome.code == 1
    assert "other.db" in outcome.err
    assert not (tmp_path / "new.db").exists()


def test_check_of_a_sound_log(tune: Tune, log: Path) -> None:
    outcome = tune("log", "check", log)
    assert outcome.code == 0
    assert "5 sound records" in outcome.out
    assert json.loads(tune("log", "check", log, "--json").out)["ok"] is True


def test_check_names_damaged_rows(tune: Tune, log: Path) -> None:
    with closing(sqlite3.connect(log)) as database, database:
        database.execute("UPDATE records SET seconds = 1e-9 WHERE id = 3")
    outcome = tune("log", "check", log)
    assert outcome.code == 1
    assert "damaged: records, row 3" in outcome.out


@pytest.mark.parametrize("action", ["list", "best"])
def test_damaged_rows_are_left_out_and_told(tune: Tune, log: Path, action: str) -> None:
    with closing(sqlite3.connect(log)) as database, database:
        database.execute("UPDATE records SET seconds = 1e-9 WHERE id = 3")
    outcome = tune("log", action, log)
    assert outcome.code == 0
    assert "1 damaged rows of" in outcome.err


@pytest.mark.parametrize("action", ["list", "best", "check"])
@pytest.mark.parametrize("content", [None, b"", b"no database at all", b"SQLite format 3\0cut"])
def test_what_is_no_log_is_one_error(
    tune: Tune, tmp_path: Path, action: str, content: bytes | None
) -> None:
    path = tmp_path / "x.db"
    if content is not None:
        path.write_bytes(content)
    outcome = tune("log", action, path)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("tune: error: ")
    assert str(path) in outcome.err
    assert (path.read_bytes() if path.exists() else None) == content


def test_a_folder_is_no_log(tune: Tune, tmp_path: Path) -> None:
    outcome = tune("log", "list", tmp_path)
    assert outcome.code == 1
    assert "Traceback" not in outcome.err


def test_export_into_a_missing_folder(tune: Tune, log: Path, tmp_path: Path) -> None:
    outcome = tune("log", "export", log, tmp_path / "no" / "file.jsonl")
    assert outcome.code == 1
    assert "there is no folder" in outcome.err


@pytest.mark.parametrize("content", [None, "nonsense\n"])
def test_import_of_what_was_not_exported_creates_nothing(
    tune: Tune, tmp_path: Path, content: str | None
) -> None:
    lines = tmp_path / "log.jsonl"
    if content is not None:
        lines.write_text(content)
    outcome = tune("log", "import", tmp_path / "new.db", lines)
    assert outcome.code == 1
    assert "log.jsonl: The " in outcome.err
    assert not (tmp_path / "new.db").exists()


def test_a_folder_was_not_exported(tune: Tune, log: Path, tmp_path: Path) -> None:
    assert "Is a directory" in tune("log", "import", log, tmp_path).err


def test_lines_that_are_cut_are_counted(tune: Tune, log: Path, tmp_path: Path) -> None:
    lines = tmp_path / "log.jsonl"
    tune("log", "export", log, lines)
    lines.write_text(lines.read_text()[:-10])
    outcome = tune("log", "import", tmp_path / "new.db", lines)
    assert outcome.code == 0
    assert outcome.out.endswith("4 added, 0 replaced, 0 kept; 1 skipped: not a JSON object\n")
