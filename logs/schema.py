"""The tables of the log, and how a log of an older version becomes one of this version.

Version N of the schema is what the first N migrations make. Each runs in a transaction of its own
and is written down in the table ``migrations`` and in SQLite's ``user_version``.
"""

import time
from collections.abc import Callable
from pathlib import Path

from sqlite_utils import Database

from logs.algorithm_names import rename_algorithms
from logs.connection import snapshot, transaction
from logs.errors import LogError
from logs.plausibility import mark_implausible

APPLICATION_ID = 0x52544C47  # "RTLG": marks the file as a tuning log (PRAGMA application_id)

Columns = dict[str, type]

_KEY: Columns = {
    "workload": str,
    "target": str,
    "threads": int,
    "code_version": str,
    "schedule": str,
}
_PROCESS: Columns = {"host": str, "boot": str, "namespace": str, "pid": int, "started": str}

TABLES: dict[str, Columns] = {
    "migrations": {"version": int, "name": str, "applied": float},
    "records": {
        "id": int,
        **_KEY,
        "status": str,
        "created": float,
        "source": str,
        "seconds": float,
        "spread": float,
        "message": str,
        "features": str,
        "measurements": int,
        "digest": str,
    },
    "claims": {
        "id": int,
        **_KEY,
        "attempts": int,
        "claimed": float,
        "lease_until": float,
        **_PROCESS,
        "running": int,
    },
    "tasks": {"workload": str, "description": str, "digest": str},
    "limits": {"target": str, "name": str, "value": float, "digest": str},
    "runs": {
        "id": int,
        "arguments": str,
        "state": str,
        "began": float,
        "ended": float,
        **_PROCESS,
        "results": str,
    },
}


ADDED_COLUMNS: dict[tuple[str, str], int] = {("claims", "running"): 4, ("runs", "results"): 5}
"""Columns that a table has since a version later than its own."""

PRIMARY_KEYS: dict[str, tuple[str, ...]] = {
    "migrations": ("version",),
    "records": ("id",),
    "claims": ("id",),
    "tasks": ("workload",),
    "limits": ("target", "name"),
    "runs": ("id",),
}


def create_records(database: Database) -> None:
    """Version 1: the measurements."""
    _create(database, "records", optional=("seconds", "spread"))
    database["records"].create_index(list(_KEY), unique=True)


def create_claims(database: Database) -> None:
    """Version 2: what is being measured, and by which process."""
    _create(database, "claims", version=2)
    database["claims"].create_index(list(_KEY), unique=True)


def create_tasks_limits_runs(database: Database) -> None:
    """Version 3: what workloads are, what machines can reach, and who tuned when."""
    _create(database, "tasks")
    _create(database, "limits")
    _create(database, "runs", optional=("ended",), version=3)


def tell_running_claims(database: Database) -> None:
    """Version 4: whether the code of a claimed schedule runs, so that a death can be blamed on it.

    Times below what the work can take, which older programs could measure, are no longer `ok`.
    """
    database["claims"].add_column("running", int, not_null_default=1)
    mark_implausible(database)


def tell_results_of_runs(database: Database) -> None:
    """Version 5: what came out of a run (JSON), such as the times of a whole network."""
    database["runs"].add_column("results", str, not_null_default="{}")


def name_parameters_of_algorithms(database: Database) -> None:
    """Version 6: algorithms of schedules are records with parameters, no longer names."""
    rename_algorithms(database)


MIGRATIONS: tuple[Callable[[Database], None], ...] = (
    create_records,
    create_claims,
    create_tasks_limits_runs,
    tell_running_claims,
    tell_results_of_runs,
    name_parameters_of_algorithms,
)
SCHEMA_VERSION = len(MIGRATIONS)


def version_of(database: Database) -> int:
    """The schema version of the open database, 0 for an empty one."""
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    return version


def refuse_foreign(database: Database, path: Path) -> int:
    """The schema version of the log at `path`, 0 for an empty file; reads only.

    Raises `LogError` for another program's database, a log of a newer version, and a log with
    objects that no version of ours makes.
    """
    with snapshot(database.conn):
        return _known_version(database, path)


def _known_version(database: Database, path: Path) -> int:
    application: int = database.execute("PRAGMA application_id").fetchone()[0]
    version = version_of(database)
    empty = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if empty and application in (0, APPLICATION_ID) and version == 0:
        return 0
    if application != APPLICATION_ID or version < 1:
        raise _foreign("the file is a database of another program", path)
    if version > SCHEMA_VERSION:
        raise LogError(
            f"the log has schema version {version}, this program knows up to {SCHEMA_VERSION}",
            str(path),
            "use the newer program that wrote it, or another log",
        )
    _refuse_strange_objects(database, path, version)
    return version


def migrate(database: Database) -> None:
    """Bring the database to `SCHEMA_VERSION`; safe when several processes do so at once."""
    for version, migration in enumerate(MIGRATIONS, start=1):
        if version_of(database) >= version:
            continue
        with transaction(database.conn):
            if version_of(database) < version:  # another process may have been faster
                _apply(database, version, migration)


def _apply(database: Database, version: int, migration: Callable[[Database], None]) -> None:
    if version == 1:
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        _create(database, "migrations")
    migration(database)
    row = {"version": version, "name": migration.__name__, "applied": time.time()}
    database["migrations"].insert(row)
    database.execute(f"PRAGMA user_version = {version}")


def _create(
    database: Database,
    name: str,
    optional: tuple[str, ...] = (),
    version: int = 1,
) -> None:
    """Create a table as `version` of the schema has it."""
    columns = _columns(name, version)
    required = set(columns) - set(optional)
    keys = PRIMARY_KEYS[name]
    database[name].create(columns, pk=keys if len(keys) > 1 else keys[0], not_null=required)


def _refuse_strange_objects(database: Database, path: Path, version: int) -> None:
    strange = database.execute(
        "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index')"
        " OR sql LIKE 'CREATE VIRTUAL%' LIMIT 1"
    ).fetchone()
    if strange is not None:
        raise _foreign(f"the log contains the strange object {strange[0]!r}", path)
    for name in _tables_of(version):
        table = database[name]
        if table.columns_dict != _columns(name, version) or tuple(table.pks) != PRIMARY_KEYS[name]:
            raise _foreign(f"the table {name!r} of the log is not as this program makes it", path)


def _columns(name: str, version: int) -> Columns:
    """The columns that a table has in a version."""
    return {
        column: type_
        for column, type_ in TABLES[name].items()
        if ADDED_COLUMNS.get((name, column), 0) <= version
    }


def _tables_of(version: int) -> tuple[str, ...]:
    """The tables that a log of `version` must have."""
    names = ("migrations", "records"), ("claims",), ("tasks", "limits", "runs")
    return tuple(name for group in names[:version] for name in group)


def _foreign(what: str, path: Path) -> LogError:
    return LogError(what, str(path), "name another file; this one was left untouched")
