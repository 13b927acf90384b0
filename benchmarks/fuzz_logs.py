"""Damaged and hostile tuning logs, through the verbs that read them.

    python -m benchmarks.fuzz_logs [--count 400] [--seed 0]

A good log of a small kernel is changed: bytes and lengths of the file, values of rows with digests
that agree, rows that are lost, limits of no machine, schedules and descriptions that are none. Each
log is listed, checked, used for a build whose result is compared with numpy, and tuned with. A verb
may fail with one message; an exception, a second message or a wrong result is a fault.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import shutil
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import logs
import relay_tune as rt
from logs.limit_rows import row_of_limit
from logs.rows import record_of, row_of
from logs.task_rows import row_of_task
from relay_tune.cli.main import main as tune

TEXT = """
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(16, 8), float32]) {
  nn.relu(nn.dense(%x, %w))
}
"""
VALUES: tuple[object, ...] = (
    *(0, 1, -1, 2**62, 5e-324, 1e308, 1e-9, float("inf"), "", "x", "{}", "[]", "null", b"\xff"),
    *('{"algorithms": 3}', '{"finished": [1]}', "[" * 5000, "\udcff", None),
)


def good_log(model: Path, log: Path) -> None:
    """A log of a few measurements of the model."""
    words = ("run", model, "--trials", 6, "--threads", 1, "--log", log, "-o", log.parent / "m.so")
    code, _, error = called(*words)
    if code:
        raise SystemExit(f"the log cannot be made: {error}")


def called(*words: object) -> tuple[int, str, str]:
    """The exit code, output and errors of the command; a traceback counts as exit code 99."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            code = tune([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        except Exception:  # noqa: BLE001  (that is what is looked for)
            code = 99
            traceback.print_exc()
    return code, out.getvalue(), error.getvalue()


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
                chance.choice([_forge_limit, _forge_task, _forge_record])(database, chance)


def _forge_limit(database: sqlite3.Connection, chance: random.Random) -> None:
    row = dict(chance.choice(database.execute("SELECT * FROM limits").fetchall()))
    value = chance.choice([5e-324, 1e-30, 1.0, 1e6, 1e9, 1e17, 1e19, 1e308, 0.0])
    if chance.random() < 0.3:
        database.execute("DELETE FROM limits WHERE name = ?", [row["name"]])
        return
    _replace(database, "limits", row_of_limit((row["target"], row["name"], value)), row)


def _forge_task(database: sqlite3.Connection, chance: random.Random) -> None:
    row = dict(chance.choice(database.execute("SELECT * FROM tasks").fetchall()))
    description = str(row["description"])
    for word in chance.sample(["1", "0", '"float32"', "direct", "threads", "["], 2):
        description = description.replace(
            word, chance.choice(["7", "-1", '"y"', "[", "1e99", "{}"])
        )
    odd = chance.choice(["[]", "3", '{"title": 1}', '{"algorithms": [{}]}', '{"kept": {}}'])
    text = description if chance.random() < 0.5 else odd
    _replace(database, "tasks", row_of_task((row["workload"], text)), row)


def _forge_record(database: sqlite3.Connection, chance: random.Random) -> None:
    row = dict(chance.choice(database.execute("SELECT * FROM records").fetchall()))
    schedule = str(row["schedule"])
    for old in chance.sample([*"0123456789", "direct", "relu", "true", "["], 3):
        schedule = schedule.replace(
            old, chance.choice([*"0987", "64", "-1", "winograd4", "x", "{}"])
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


def faults(model: Path, log: Path, number: int, *, tuning: bool) -> list[str]:
    """What is wrong when the verbs meet a log."""
    library = log.parent / f"m{number}.so"
    verbs: list[tuple[object, ...]] = [("log", "list", log), ("log", "check", log)]
    verbs += [("log", "best", log), ("build", model, "--log", log, "-o", library, "--threads", 1)]
    if tuning:
        small = ("--trials", 2, "--threads", 1, "-o", log.parent / f"t{number}.so")
        verbs.append(("run", model, "--log", log, *small))
    found = []
    for words in verbs:
        code, _, error = called(*words)
        messages = error.count("tune: error:")
        if code not in (0, 1) or (code == 1 and messages > 1) or "Traceback" in error:
            found.append(f"{words[0]} {words[1]}: exit code {code}: {error.strip()[-600:]}")
    if library.exists() and not _is_right(library):
        found.append("the library that was built is wrong")
    return found


def _is_right(library: Path) -> bool:
    random_ = np.random.default_rng(0)
    x = random_.standard_normal((4, 8)).astype(np.float32)
    w = random_.standard_normal((16, 8)).astype(np.float32)
    result = rt.load(str(library))(x, w)
    return bool(np.allclose(np.asarray(result), np.maximum(x @ w.T, 0), atol=1e-4))


def main() -> int:
    """Run a campaign; the exit code is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=400, help="logs (default: 400)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    options = parser.parse_args()
    bad: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        model, good = Path(folder) / "small.relay", Path(folder) / "good.db"
        model.write_text(TEXT)
        good_log(model, good)
        for number in range(options.seed, options.seed + options.count):
            chance = random.Random(number)
            kind = chance.choice(list(KINDS))
            log = Path(folder) / f"{number}.db"
            shutil.copy(good, log)
            KINDS[kind](log, chance)
            for fault in faults(model, log, number, tuning=number % 8 == 0):
                bad[kind] += 1
                print(f"{number} ({kind}): {fault}", flush=True)
            for file in Path(folder).glob(f"*{number}.*"):
                file.unlink()
    print(f"{options.count} logs, {sum(bad.values())} faults {dict(bad) or ''}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
