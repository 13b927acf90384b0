"""Limits of machines as rows of the table, and back."""

from collections.abc import Iterator

from sqlite_utils import Database

from logs.digest import digest_of
from logs.errors import LogError
from logs.fields import checked_real, checked_text

Limit = tuple[str, str, float]  # target, name, value


def write_limit(database: Database, target: str, name: str, value: float) -> None:
    """Insert or replace a limit inside the transaction of the caller."""
    checked_text("target", target)
    checked_text("name", name)
    limit = (target, name, checked_real("value", value))
    database["limits"].insert(row_of_limit(limit), replace=True)


def row_of_limit(limit: Limit) -> dict[str, str | float]:
    """The row that stores `limit`."""
    target, name, value = limit
    return {"target": target, "name": name, "value": value, "digest": digest_of(*limit)}


def limit_of(row: dict[str, object]) -> Limit:
    """The limit that `row` stores; raises `LogError` unless it agrees with its digest."""
    target = checked_text("target", row["target"])
    name = checked_text("name", row["name"])
    value = checked_real("value", row["value"])
    if row["digest"] != digest_of(target, name, value):
        raise LogError(
            "the digest does not agree with the content",
            f"limit {name!r} of {target!r}",
            "the row has been changed or damaged; put the limit again",
        )
    return target, name, value


def believed_limits(database: Database) -> Iterator[Limit]:
    """The limits whose digests agree."""
    for row in database["limits"].rows:
        try:
            yield limit_of(row)
        except LogError:
            continue  # `check` reports such rows
