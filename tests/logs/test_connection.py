"""Many processes on one log, and processes that are killed while they write."""

import random
import sqlite3
import time

import pytest

import logs
from logs.connection import snapshot, transaction

APPEND = """
import sys, logs
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
with logs.open_log(path) as log:
    for number in range(count):
        schedule = logs.canonical_json([name, number])
        log.append(logs.Record("w", "t", 1, "1", schedule, "ok", 1.0, "h", seconds=1.0))
        print(schedule, flush=True)
"""


def begin(start, path, count, each):
    """Processes that are all set to go at the same moment."""
    processes = [start(APPEND, path, name, each) for name in range(count)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    return processes


def schedules(path):
    with logs.open_log(path, create=False) as log:
        assert log.check().ok
        return [record.schedule for record in log.history()]


def test_four_processes_lose_nothing(path, start):
    processes = begin(start, path, count=4, each=100)
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        assert process.communicate()[1] == ""
    expected = {logs.canonical_json([str(name), n]) for name in range(4) for n in range(100)}
    found = schedules(path)
    assert len(found) == 400 and set(found) == expected


@pytest.mark.parametrize("again", range(2))
def test_eight_processes_create_the_log_at_once(path, start, again):
    processes = begin(start, path, count=8, each=1)
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[1] for process in processes] == [""] * 8
    assert len(schedules(path)) == 8


def test_killed_writers_lose_nothing_that_was_acknowledged(path, start):
    chance = random.Random(11)
    acknowledged: set[str] = set()
    survivor = begin(start, path, count=1, each=1)[0]
    for name in range(100, 110):
        process = start(APPEND, path, name, 100_000)
        process.stdout.readline()
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        acknowledged.add(logs.canonical_json([str(name), 0]))
        time.sleep(chance.uniform(0.0, 0.15))
        process.kill()
        lines = process.stdout.read().split("\n")
        acknowledged.update(lines[:-1])  # the last one may be cut short
        assert acknowledged <= set(schedules(path))
    assert survivor.communicate("\n")[1] == ""
    assert len(acknowledged) > 20


def test_a_busy_log_is_waited_for(path, record, monkeypatch):
    with logs.open_log(path) as holder, logs.open_log(path) as waiting:
        monkeypatch.setattr("logs.connection.BUSY_SECONDS", 0.0)
        waiting._store._connection.execute("PRAGMA busy_timeout = 50")
        with (
            holder._store.writing(),
            pytest.raises(logs.LogError, match="locked by another process"),
        ):
            waiting.append(record())
        waiting.append(record())
        assert list(holder.history()) == [record()]


def test_commits_are_synced(path):
    with logs.open_log(path) as log:
        connection = log._store._connection
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA busy_timeout").fetchone()[0] >= 30_000


class InterruptedConnection:
    """A connection in which an interrupt arrives right after a transaction has begun."""

    def __init__(self):
        self.real = sqlite3.connect(":memory:", isolation_level=None)

    def execute(self, statement):
        found = self.real.execute(statement)
        if statement.startswith("BEGIN"):
            raise KeyboardInterrupt
        return found

    @property
    def in_transaction(self):
        return self.real.in_transaction


@pytest.mark.parametrize("guard", [transaction, snapshot])
def test_an_interrupt_at_the_beginning_leaves_no_transaction(guard):
    connection = InterruptedConnection()
    with pytest.raises(KeyboardInterrupt), guard(connection):
        pass
    assert not connection.in_transaction
