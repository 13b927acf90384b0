"""Records as rows of the table, and back: no row is believed unless its digest agrees."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from typing import Any

from sqlite_utils import Database

from logs.errors import LogError
from logs.record import Key, Record

Row = dict[str, Any]

KEY_COLUMNS = tuple(field.name for field in fields(Key))
_FIELDS = tuple(field.name for field in fields(Record))
_PAGE_ROWS = 500


def row_of(record: Record) -> Row:
    """The row that stores `record`, without its row number."""
    return {**asdict(record), "status": record.status.value, "digest": record.digest}


def record_of(row: Row) -> Record:
    """The record that `row` stores.

    Raises `LogError` if the row holds impossible values or does not agree with its digest.
    """
    record = Record(**{name: row[name] for name in _FIELDS})
    if record.digest != row["digest"]:
        raise LogError(
            "the digest does not agree with the content",
            f"row {row.get('id', '?')}",
            "the row has been changed or damaged; measure again",
        )
    return record


def matching_rows(database: Database, **wanted: str | int | None) -> Iterator[Row]:
    """The rows whose columns equal the wanted values (None: any), by ascending row number.

    Rows are fetched page by page, so that a slow reader never holds up a writer's checkpoint.
    Every row is compared again with what was wanted: a damaged index may lead to any row.
    """
    filters = {name: value for name, value in wanted.items() if value is not None}
    where = " AND ".join(["id > :after", _all_equal(filters)]) if filters else "id > :after"
    after = 0
    while True:
        parameters = {**filters, "after": after}
        page = list(
            database["records"].rows_where(where, parameters, order_by="id", limit=_PAGE_ROWS)
        )
        yield from (row for row in page if _agrees(row, filters))
        last = max((row["id"] for row in page), default=after)
        if len(page) < _PAGE_ROWS or last <= after:
            return
        after = last


def fastest_rows(database: Database, **wanted: str | int) -> Iterator[Row]:
    """The rows whose columns equal the wanted values, by ascending time."""
    rows = database["records"].rows_where(_all_equal(wanted), wanted, order_by="seconds, id")
    return (row for row in rows if _agrees(row, wanted))


def key_filter(key: Key) -> tuple[str, Row]:
    """The SQL condition, and its parameters, for the rows of `key`."""
    return _all_equal(KEY_COLUMNS), asdict(key)


def find_row(database: Database, key: Key) -> Row | None:
    """The row of `key`, believed or not, or None.

    Raises `LogError` if the index of the log leads to the row of another key.
    """
    condition, parameters = key_filter(key)
    row: Row | None = next(database["records"].rows_where(condition, parameters, limit=1), None)
    if row is not None and not _agrees(row, parameters):
        raise LogError(
            "the index of the log is damaged",
            f"row {row['id']}",
            "export the log and import the result into a new one",
        )
    return row


def write_row(database: Database, record: Record, row_number: int | None) -> None:
    """Insert `record`, or put it in the place of the row `row_number`."""
    if row_number is None:
        database["records"].insert(row_of(record))
    else:
        database["records"].update(row_number, row_of(record))


def _all_equal(columns: Iterable[str]) -> str:
    return " AND ".join(f"{name} = :{name}" for name in columns)


def _agrees(row: Row, filters: Row) -> bool:
    return all(row[name] == value for name, value in filters.items())
