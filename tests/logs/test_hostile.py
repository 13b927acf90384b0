"""Logs that a stranger has filled: they may be useless, they must be harmless."""

import pytest

import logs
from logs.schema import TABLES

VALUES = ["", "text", "\0", "../../etc", 2**62, -1, 1e308, float("inf"), b"\xff\0", "[" * 9999]


def read_everything(log):
    list(log.history())
    log.best("matmul-64", "x86_64-linux-gnu:haswell", 2, "1")
    log.workloads()
    log.stale_claims()
    log.runs()
    log.task("matmul-64")
    log.limits("t")
    list(log.exported_lines())
    return log.check()


def prepared(path, record):
    log = logs.open_log(path)
    log.append(record(message="m", features="[1]"))
    log.claim(record(1).key)
    log.put_task("matmul-64", "{}")
    log.put_limit("t", "flops", 1.0)
    log.begin_run("{}")
    return log


@pytest.mark.parametrize("table", ["records", "claims", "tasks", "limits", "runs"])
def test_any_value_in_any_column_is_harmless(path, record, table):
    with prepared(path, record) as log:
        connection = log._store._connection
        for column in TABLES[table]:
            if column == "id":
                continue
            for value in VALUES:
                connection.execute("SAVEPOINT hostile")
                connection.execute(f"UPDATE {table} SET {column} = ?", [value])
                report = read_everything(log)
                # claims and runs carry no digest; they are only advice
                assert not report.ok or table in ("claims", "runs")
                connection.execute("ROLLBACK TO hostile")
                connection.execute("RELEASE hostile")
        assert read_everything(log).ok


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE records AS SELECT * FROM old",
        "CREATE TABLE records AS SELECT *, 1 AS extra FROM old",
        "CREATE TABLE records (id INTEGER PRIMARY KEY)",
    ],
)
def test_a_replaced_table_is_refused(path, record, statement):
    with prepared(path, record) as log:
        connection = log._store._connection
        connection.execute("ALTER TABLE records RENAME TO old")
        connection.execute(statement)
    with pytest.raises(logs.LogError, match="not as this program makes it"):
        logs.open_log(path)
