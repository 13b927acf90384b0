"""What a machine can reach at most, such as its peak arithmetic and memory rates."""

from collections.abc import Mapping

from logs.limit_rows import Limit, believed_limits, write_limit
from logs.store import Store


class Limits:
    """The table of machine limits of one open log."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, target: str, name: str, value: float) -> None:
        """See `TuningLog.put_limit`."""
        with self._store.writing() as database:
            write_limit(database, target, name, value)

    def put_all(self, target: str, values: Mapping[str, float]) -> None:
        """See `TuningLog.put_limits`."""
        with self._store.writing() as database:
            for name, value in values.items():
                write_limit(database, target, name, value)

    def get(self, target: str) -> dict[str, float]:
        """See `TuningLog.limits`."""
        return {name: value for owner, name, value in self.all() if owner == target}

    def all(self) -> list[Limit]:
        """All believable limits."""
        with self._store.reading() as database:
            return list(believed_limits(database))
