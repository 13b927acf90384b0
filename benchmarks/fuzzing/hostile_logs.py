"""Tuning logs that strangers have filled or a disk has damaged, made of a good one."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

import logs
from logs.limit_rows import row_of_limit
from logs.rows import record_of, row_of
from logs.task_rows import row_of_task

MARKUP = "<script>alert(1)</script>"
"""A page that shows this unescaped runs what a stranger wrote."""

VALUES: tuple[object, ...] = (
    *(0, 1, -1, 2**62, 5e-324, 1e308, 1e-9, float("inf"), "", "x", "{}", "[]", "null", b"\xff"),
    *('{"algorithms": 3}', '{"finished": [1]}', "[" * 5000, "\udcff", None),
)


DESCRIPTIONS = (
    *("[]", "3", '{"title": 1}', '{"algorithms": [{}]}', '{"kept": {}}'),
    *(f'{{"title": "{MARKUP} $\\\\frac{{"}}', f'{{"nodes": ["{MARKUP}", 1]}}'),
    '{"title": "\\ud800\\u0000\\u202e", "operations": 1e308, "bytes": -1}',
    '{"algorithms": [{"names": [[]], "operations": {"float32": 1e29}, "bytes": 1e29}]}',
)


def flipped(log: Path, chance: random.Random) -> None:
    """Change some bytes."""
    data = bytearray(log.read_bytes())
    for _ in range(chance.randint(1, 30)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    log.write_bytes(data)


def truncated(log: Path, chance: random.Random) -> None:
    """Cut the end off, or add to it."""
    data = log.read_bytes()
    more = bytes(chance.randrange(256) for _ in range(100))
    log.write_bytes(data[: chance.randrange(len(data))] if chance.random() < 0.8 else data + more)


def odd_cell(log: Path, chance: random.Random) -> None:
    """Put odd values into cells, whose digests then disagree."""
    with sqlite3.connect(log) as database:
        for _ in range(chance.randint(1, 4)):
            table = chance.choice(["records", "tasks", "limits", "claims", "runs"])
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            with contextlib.suppress(sqlite3.Error, UnicodeEncodeError):
                database.execute(
                    f"UPDATE {table} SET {chance.choice(columns)} = ?", [chance.choice(VALUES)]
                )


def forged(log: Path, chance: random.Random) -> None:
    """Change values and their digests with them."""
    with sqlite3.connect(log) as database:
        database.row_factory = sqlite3.Row
        for _ in range(chance.randint(1, 6)):
            with contextlib.suppress(logs.LogError, sqlite3.Error, UnicodeEncodeError):
                chance.choice(FORGERIES)(database, chance)


def _forge_limit(database: sqlite3.Connection, chance: random.Random) -> None:
    row = dict(chance.choice(database.execute("SELECT * FROM limits").fetchall()))
    value = chance.choice([5e-324, 1e-30, 1.0, 1e6, 1e9, 1e17, 1e19, 1e308, 0.0])
    if chance.random() < 0.3:
        database.execute("DELETE FROM limits WHERE name = ?", [row["name"]])
        return
    _replace(database, "limits", row_of_limit((row["target"], row["name"], value)), row)


ALGORITHMS = (
    '"algorithm":[{"name":"rows","block":9999}],"nests"',
    '"algorithm":[{"name":"winograd","tile":4,"block":3},{"name":"winograd","tile":4}],"nests"',
    '"algorithm":[{"name":"strassen"},{"name":"strassen"}],"nests"',
    '"algorithm":[{"name":"split","parts":true}],"nests"',
    '"algorithm":[{"name":[],"name":{}}],"nests"',
    '"algorithm":"winograd4_tiles28","nests"',
)
"""What may stand before the choices of a schedule."""


def _forge_task(database: sqlite3.Connection, chance: random.Random) -> None:
    row = dict(chance.choice(database.execute("SELECT * FROM tasks").fetchall()))
    description = str(row["description"])
    for word in chance.sample(["1", "0", '"float32"', '"name"', "threads", "["], 2):
        description = description.replace(
            word, chance.choice(["7", "-1", '"y"', "[", "1e99", "{}"])
        )
    odd = chance.choice(DESCRIPTIONS)
    text = description if chance.random() < 0.5 else odd
    _replace(database, "tasks", row_of_task((row["workload"], text)), row)


def _forge_record(database: sqlite3.Connection, chance: random.Random) -> None:
    row = dict(chance.choice(database.execute("SELECT * FROM records").fetchall()))
    schedule = str(row["schedule"])
    for old in chance.sample([*"0123456789", '"nests"', "relu", "true", "[", '"algorithm":[{'], 3):
        schedule = schedule.replace(
            old, chance.choice([*"0987", "64", "-1", "winograd4", "x", "{}", *ALGORITHMS])
        )
    row["schedule"] = schedule if chance.random() < 0.8 else chance.choice(["3", "{}", "[[]]"])
    row["seconds"] = chance.choice([1e-12, 1e-6, 1.0, 5e-324, 1e308])
    row["created"] = chance.choice([0.0, 1e308, row["created"]])
    row["features"] = chance.choice(["", "[]", "[1e308, 1]", row["features"]])
    number = row["id"]
    record = logs.Record(**{name: row[name] for name in row if name not in ("id", "digest")})
    changed = row_of(record)
    record_of(changed)
    cells = ", ".join(f"{name} = :{name}" for name in changed)
    database.execute(f"UPDATE records SET {cells} WHERE id = {number}", changed)


def _forge_run(database: sqlite3.Connection, chance: random.Random) -> None:
    """Runs have no digests: they are only advice."""
    row = chance.choice(database.execute("SELECT id, arguments FROM runs").fetchall())
    text = str(row["arguments"])
    for word in chance.sample(["1", "small", "x86_64", "{", "threads"], 2):
        text = text.replace(word, chance.choice([MARKUP, "-1", "9" * 40, "[", "\\ud800", "$"]))
    database.execute("UPDATE runs SET arguments = ?, began = ?", [text, chance.choice([-1, 1e308])])


FORGERIES = (_forge_limit, _forge_task, _forge_record, _forge_run)


def _replace(
    database: sqlite3.Connection, table: str, new: Mapping[str, object], old: Mapping[str, object]
) -> None:
    keys = [name for name in ("workload", "target", "name") if name in old]
    where = " AND ".join(f"{name} = :{name}" for name in keys)
    cells = ", ".join(f"{name} = :{name}" for name in new)
    database.execute(f"UPDATE {table} SET {cells} WHERE {where}", {**old, **new})


KINDS: dict[str, Callable[[Path, random.Random], None]] = {
    "flipped": flipped,
    "truncated": truncated,
    "odd cells": odd_cell,
    "forged": forged,
}
