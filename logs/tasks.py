"""What a workload is, in a form that people and programs can read."""

from logs.store import Store
from logs.task_rows import Task, believed_tasks, find_task, write_task


class Tasks:
    """The table of task descriptions of one open log."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, workload: str, description: str) -> None:
        """See `TuningLog.put_task`."""
        with self._store.writing() as database:
            write_task(database, workload, description)

    def get(self, workload: str) -> str | None:
        """See `TuningLog.task`."""
        with self._store.reading() as database:
            return find_task(database, workload)

    def all(self) -> list[Task]:
        """All believable (workload, description) pairs."""
        with self._store.reading() as database:
            return list(believed_tasks(database))
