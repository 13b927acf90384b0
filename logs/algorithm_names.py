"""Texts of versions in which the algorithm of a schedule was a name, as they are written now.

    before:  {"algorithm":"winograd4_tiles28","nests":[..]}
    after:   {"algorithm":[{"block":28,"name":"winograd","tile":4}],"nests":[..]}

The names are those that there were; nothing is ever added here.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlite_utils import Database

from logs.digest import canonical_json, parse_json
from logs.errors import LogError
from logs.record import Record
from logs.rows import matching_rows, record_of, write_row
from logs.task_rows import believed_tasks, write_task

Form = list[dict[str, Any]]

_COUNT = "([1-9][0-9]{0,3})"
_BLOCKS = re.compile(f"(?:winograd([24])_tiles|rows){_COUNT}")
_NAMES: Mapping[str, Form] = {
    "direct": [],
    "split4": [{"name": "split", "parts": 4}],
    "strassen": [{"name": "strassen"}],
    "winograd2": [{"name": "winograd", "tile": 2}],
    "winograd4": [{"name": "winograd", "tile": 4}],
    "bf16x3": [{"name": "bf16x3"}],
    "bf16x6": [{"name": "bf16x6"}],
    "bf16x3_gathered": [{"name": "bf16x3", "gathered": True}],
    "bf16x6_gathered": [{"name": "bf16x6", "gathered": True}],
}
_SCHEDULE_OF_FINISHED = 4
"""Where a mark of a finished task has the text of its schedule."""


def renamed_record(record: Record) -> Record:
    """The record with its schedule as it is written now."""
    return replace(record, schedule=renamed_schedule(record.schedule))


def renamed_schedule(text: str) -> str:
    """The JSON text of a schedule as it is written now; itself where it has no such name."""
    if '"algorithm"' not in text:
        return text
    data = parse_json(text)
    if not isinstance(data, dict) or not isinstance(data.get("algorithm"), str):
        return text
    form = _form(data.pop("algorithm"))
    if form is None:
        return text
    return _written(data | ({"algorithm": form} if form else {}), text)


def renamed_description(text: str) -> str:
    """The description of a workload with its algorithms and schedules as they are written now."""
    data = parse_json(text)
    if not isinstance(data, dict):
        return text
    changed = dict(data)
    for name, renamed in (("algorithms", _way), ("finished", _finished), ("kept", _kept)):
        if isinstance(data.get(name), list):
            changed[name] = [renamed(each) for each in data[name]]
    return text if changed == data else _written(changed, text)


def rename_algorithms(database: Database) -> None:
    """Rename them in a log, inside the transaction of the caller; damaged rows stay."""
    for row in matching_rows(database):
        try:
            record = record_of(row)
        except LogError:
            continue  # `check` reports such rows
        if renamed_schedule(record.schedule) != record.schedule:
            write_row(database, renamed_record(record), row["id"])
    for row in list(database["claims"].rows):
        database["claims"].update(row["id"], {"schedule": _renamed_claim(row["schedule"])})
    for workload, text in list(believed_tasks(database)):
        if renamed_description(text) != text:
            write_task(database, workload, renamed_description(text))


def _renamed_claim(text: str) -> str:
    """The same of a schedule that no digest guards."""
    try:
        return renamed_schedule(text)
    except ValueError:
        return text


def _written(data: Mapping[str, object], text: str) -> str:
    """The canonical text of what was read from a text; that one where it is nested too deeply."""
    try:
        return canonical_json(data)
    except RecursionError:
        return text


def _form(name: str) -> Form | None:
    """What stands for a name now; None where there was no such name."""
    found = _BLOCKS.fullmatch(name)
    if found is None:
        return _NAMES.get(name)
    if found[1] is None:
        return [{"name": "rows", "block": int(found[2])}]
    return [{"name": "winograd", "tile": int(found[1]), "block": int(found[2])}]


def _way(way: Any) -> Any:
    """A way to compute a workload, which has the names of its algorithms."""
    match way:
        case {"names": list(names)}:
            return {**way, "names": [_renamed_name(name) for name in names]}
    return way


def _renamed_name(name: object) -> object:
    form = _form(name) if isinstance(name, str) else None
    return name if form is None else form


def _finished(mark: object) -> object:
    if not isinstance(mark, list) or len(mark) <= _SCHEDULE_OF_FINISHED:
        return mark
    begin, end = mark[:_SCHEDULE_OF_FINISHED], mark[_SCHEDULE_OF_FINISHED + 1 :]
    return [*begin, _renamed_text(mark[_SCHEDULE_OF_FINISHED]), *end]


def _kept(mark: object) -> object:
    if isinstance(mark, dict) and "schedule" in mark:
        return {**mark, "schedule": _renamed_text(mark["schedule"])}
    return mark


def _renamed_text(text: object) -> object:
    return _renamed_claim(text) if isinstance(text, str) else text
