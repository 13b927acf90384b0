"""The exchange file: a log as JSON lines, to read, to keep, to send, to join.

The first line names the format. Each other line is an object with a ``kind`` (record, task or
limit), the fields of that kind, and the digest over them.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from logs.algorithm_names import renamed_description, renamed_record
from logs.digest import canonical_json, parse_json
from logs.errors import LogError
from logs.joining import MergeReport, join_limits, join_records, join_tasks
from logs.limit_rows import Limit, limit_of, row_of_limit
from logs.measurements import Measurements
from logs.record import Record
from logs.rows import record_of, row_of
from logs.store import Store
from logs.task_rows import Task, row_of_task, task_of

FORMAT = "tuning-log"
FORMAT_VERSION = 2
"""Files of version 1 have names of algorithms, which are renamed when they are read."""

LONGEST_HEADER = 1000
"""Characters of the first line that are read."""

_COLUMNS: dict[str, frozenset[str]] = {
    "record": frozenset(column.name for column in fields(Record)) | {"digest"},
    "task": frozenset({"workload", "description", "digest"}),
    "limit": frozenset({"target", "name", "value", "digest"}),
}


@dataclass(slots=True)
class _Parsed:
    """The tasks and limits seen so far; records are passed on at once."""

    tasks: list[Task] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)


def exported_lines(
    measurements: Measurements, tasks: list[Task], limits: list[Limit]
) -> Iterator[str]:
    """The lines of the exchange file, without line ends."""
    yield canonical_json({"kind": "header", "format": FORMAT, "version": FORMAT_VERSION})
    for task in tasks:
        yield canonical_json({"kind": "task", **row_of_task(task)})
    for limit in limits:
        yield canonical_json({"kind": "limit", **row_of_limit(limit)})
    for record in measurements.select():
        yield canonical_json({"kind": "record", **row_of(record)})


def write_lines(path: Path, lines: Iterator[str]) -> None:
    """Write the file whole or not at all; raises `LogError` if the system refuses."""
    if not path.parent.is_dir():
        raise LogError("the folder does not exist", str(path.parent), "create the folder")
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("w", encoding="ascii") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise _file_error("cannot be written", path, error) from error
    finally:
        unfinished.unlink(missing_ok=True)


def check_exported(path: Path) -> int:
    """The version of an exchange file. Raises `LogError` where it is none that can be read."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise LogError(
            "the exchange file is no regular file",  # to read a pipe or a device may never end
            str(path),
            "copy what it gives to a file, and name that",
        )
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return _header_version(file.readline(LONGEST_HEADER), path)
    except OSError as error:
        raise _file_error("cannot be read", path, error) from error


def import_lines(store: Store, path: Path) -> MergeReport:
    """Join the content of the exchange file at `path`; unusable lines are skipped and counted.

    Raises `LogError` if the file cannot be read or is no exchange file of a known version.
    """
    version = check_exported(path)
    report = MergeReport()
    parsed = _Parsed()
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            file.readline(LONGEST_HEADER)
            join_records(store, _records(file, parsed, report, version), report)
    except OSError as error:
        raise _file_error("cannot be read", path, error) from error
    join_tasks(store, parsed.tasks)
    join_limits(store, parsed.limits)
    return report


def _header_version(line: str, path: Path) -> int:
    header = _parsed_line(line)
    if header is None or header.get("format") != FORMAT:
        raise LogError(
            "the file is not an exported log", str(path), "name a file that was exported from a log"
        )
    version = header.get("version")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise LogError(
            f"the file has format version {version!r}, this program reads up to {FORMAT_VERSION}",
            str(path),
            "import it with the program that wrote it, and merge the logs",
        )
    return version


def _records(
    lines: Iterable[str], parsed: _Parsed, report: MergeReport, version: int
) -> Iterator[Record]:
    """The usable records among `lines`; tasks and limits go to `parsed`, faults to `report`."""
    for line in lines:
        row = _parsed_line(line)
        fault = "not a JSON object" if row is None else _fault_of(row)
        if row is None or fault:
            report.skipped[fault] += 1
            continue
        try:
            match row["kind"]:
                case "record":
                    record = record_of(row)
                    yield renamed_record(record) if version == 1 else record
                case "task":
                    workload, text = task_of(row)
                    parsed.tasks.append(
                        (workload, renamed_description(text) if version == 1 else text)
                    )
                case "limit":
                    parsed.limits.append(limit_of(row))
        except LogError as error:
            report.skipped[error.what] += 1


def _parsed_line(line: str) -> dict[str, Any] | None:
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _fault_of(row: dict[str, Any]) -> str:
    kind = row.get("kind")
    columns = _COLUMNS.get(kind) if isinstance(kind, str) else None
    if columns is None:
        return "unknown kind of line"
    return "" if columns <= row.keys() else f"a {kind} without all of its fields"


def _file_error(what: str, path: Path, error: OSError) -> LogError:
    return LogError(
        f"the exchange file {what} [{error.strerror}]",
        str(path),
        "check the path, its rights, and the space on the disk",
    )
