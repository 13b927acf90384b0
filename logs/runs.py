"""Which tuning runs there were, and how each of them ended."""

import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from logs.errors import LogError
from logs.fields import bad_field, checked_json, checked_real
from logs.process import Liveness, liveness, process_of, this_process
from logs.store import Store


class RunState(StrEnum):
    """How far a run got."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"  # by the user, or its process died
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Run:
    """One tuning run; times are Unix times in seconds, `ended` is None if nobody noted it.

    `arguments` and `results` are JSON; the results of a run that noted none are `{}`.
    """

    run_id: int
    arguments: str
    state: RunState
    began: float
    ended: float | None
    results: str = "{}"


class Runs:
    """The table of runs of one open log."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, arguments: str) -> int:
        """See `TuningLog.begin_run`."""
        row = {
            "arguments": checked_json("arguments", arguments),
            "state": RunState.RUNNING.value,
            "began": time.time(),
            **asdict(this_process()),
            "results": "{}",
        }
        with self._store.writing() as database:
            return int(database["runs"].insert(row).last_pk)

    def end(self, run_id: int, state: RunState | str) -> None:
        """See `TuningLog.end_run`."""
        ending = _checked_ending(state)
        self._update(run_id, "state = ?, ended = ?", ending.value, time.time())

    def note_results(self, run_id: int, results: str) -> None:
        """See `TuningLog.note_results`."""
        self._update(run_id, "results = ?", checked_json("results", results))

    def _update(self, run_id: int, assignment: str, *values: object) -> None:
        with self._store.writing() as database:
            found = database.execute(
                f"UPDATE runs SET {assignment} WHERE id = ?", [*values, run_id]
            )
            if found.rowcount != 1:
                raise LogError(
                    "there is no such run",
                    f"{self._store.path}, run {run_id}",
                    "pass the number that begin_run returned",
                )

    def all(self) -> list[Run]:
        """All runs, oldest first; a run whose process is dead shows as interrupted."""
        with self._store.reading() as database:
            rows = list(database["runs"].rows_where(order_by="id"))
        return [run for run in map(_run_of, rows) if run is not None]


def _checked_ending(state: RunState | str) -> RunState:
    endings = [known for known in RunState if known is not RunState.RUNNING]
    if state in endings:
        return RunState(state)
    raise LogError(
        f"a run cannot end as {state!r}", "field 'state'", f"use one of {', '.join(endings)}"
    )


def _run_of(row: dict[str, Any]) -> Run | None:
    """The run that `row` stores, or None if the row is damaged."""
    try:
        state = _state_of(row)
        ended = None if row["ended"] is None else checked_real("ended", row["ended"])
        arguments = checked_json("arguments", row["arguments"])
        results = checked_json("results", row["results"])
        began = checked_real("began", row["began"])
        return Run(row["id"], arguments, state, began, ended, results)
    except LogError:
        return None


def _state_of(row: dict[str, Any]) -> RunState:
    if row["state"] not in list(RunState):
        raise bad_field("state", "is not known")
    state = RunState(row["state"])
    if state is RunState.RUNNING and liveness(process_of(row)) is Liveness.DEAD:
        return RunState.INTERRUPTED
    return state
