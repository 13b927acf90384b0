import shutil
import sqlite3
from pathlib import Path

import pytest

import logs
from logs.schema import MIGRATIONS

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(params=sorted(GOLDEN.glob("*.sql")), ids=lambda file: file.stem)
def old(request, path):
    """A log as an older version wrote it."""
    connection = sqlite3.connect(path)
    connection.executescript(request.param.read_text())
    connection.close()
    return path


def names(path):
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT name FROM migrations ORDER BY version").fetchall()
    connection.close()
    return [name for (name,) in rows]


def test_an_old_log_migrates_and_keeps_its_records(old, record):
    with logs.open_log(old) as log:
        assert list(log.history()) == [record(1), record(2, status="crash", seconds=None)]
        log.append(record(3))
        assert log.claim(record(4).key)
        log.put_task("matmul-64", "{}")
        report = log.check()
        assert report.ok and report.records == 3
        assert report.schema_version == report.current_version == logs.SCHEMA_VERSION
    assert names(old) == [each.__name__ for each in MIGRATIONS]


def test_an_old_log_can_be_read_without_being_changed(old, record):
    before = old.read_bytes()
    with logs.open_log(old, create=False, readonly=True) as log:
        assert next(log.history()) == record(1)
        assert log.claims() == [] and log.task("matmul-64") is None
        assert log.check().schema_version < logs.SCHEMA_VERSION
    assert old.read_bytes() == before


def test_runs_of_an_old_log_have_no_results(path):
    connection = sqlite3.connect(path)
    connection.executescript((GOLDEN / "version_4.sql").read_text())
    connection.close()
    for readonly in (True, False):
        with logs.open_log(path, readonly=readonly) as log:
            (run,) = log.runs()
        assert (run.arguments, run.state, run.results) == ('{"trials":3}', "finished", "{}")


def test_a_failing_migration_changes_nothing(old, monkeypatch):
    def fail(database):
        database.execute("CREATE TABLE half_done (x)")
        raise sqlite3.OperationalError("no space")

    version = logs.schema.SCHEMA_VERSION + 1
    monkeypatch.setattr("logs.schema.MIGRATIONS", (*logs.schema.MIGRATIONS, fail))
    monkeypatch.setattr("logs.schema.SCHEMA_VERSION", version)
    with pytest.raises(logs.LogError):
        logs.open_log(old)
    monkeypatch.undo()
    with logs.open_log(old) as log:
        assert log.check().ok


def test_a_newer_log_is_refused_with_both_versions(path, record):
    with logs.open_log(path) as log:
        log.append(record())
        with log._store.writing() as database:
            database.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    for readonly in (False, True):
        with pytest.raises(logs.LogError, match=rf"version 99.*up to {logs.SCHEMA_VERSION}"):
            logs.open_log(path, readonly=readonly)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",
        "CREATE VIEW v AS SELECT 1",
        "ALTER TABLE records ADD COLUMN surprise",
        "DROP TABLE claims",
        "CREATE VIRTUAL TABLE f USING fts5(x)",
    ],
)
def test_a_log_with_strange_objects_is_refused(path, statement):
    logs.open_log(path).close()
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.close()
    with pytest.raises(logs.LogError, match="strange|not as this program"):
        logs.open_log(path)


def test_tables_are_as_declared(path):
    logs.open_log(path).close()
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    connection = sqlite3.connect(copy)
    for name, columns in logs.schema.TABLES.items():
        found = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
        assert found == list(columns)
    connection.close()
