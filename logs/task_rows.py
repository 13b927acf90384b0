"""Descriptions of workloads as rows of the table, and back."""

from collections.abc import Iterator

from sqlite_utils import Database

from logs.digest import digest_of
from logs.errors import LogError
from logs.fields import checked_json, checked_text

Task = tuple[str, str]  # workload, description


def write_task(database: Database, workload: str, description: str) -> None:
    """Insert or replace a task inside the transaction of the caller."""
    checked_text("workload", workload)
    checked_json("description", description)
    database["tasks"].insert(row_of_task((workload, description)), replace=True)


def find_task(database: Database, workload: str) -> str | None:
    """The description of `workload`, or None if there is none that can be believed."""
    return dict(believed_tasks(database, workload)).get(workload)


def row_of_task(task: Task) -> dict[str, str]:
    """The row that stores `task`."""
    workload, description = task
    return {"workload": workload, "description": description, "digest": digest_of(*task)}


def task_of(row: dict[str, object]) -> Task:
    """The task that `row` stores; raises `LogError` unless it agrees with its digest."""
    workload = checked_text("workload", row["workload"])
    description = checked_json("description", row["description"])
    if row["digest"] != digest_of(workload, description):
        raise LogError(
            "the digest does not agree with the content",
            f"task {workload!r}",
            "the row has been changed or damaged; put the task again",
        )
    return workload, description


def believed_tasks(database: Database, workload: str | None = None) -> Iterator[Task]:
    """The descriptions whose digests agree, of one workload or of all."""
    condition = None if workload is None else "workload = ?"
    for row in database["tasks"].rows_where(condition, [workload] if workload else []):
        try:
            yield task_of(row)
        except LogError:
            continue  # `check` reports such rows
