"""When each thread ran each kernel: a timeline in the trace event format of Chrome and Perfetto."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from relay_tune.codegen.trace_function import EVENT_WORDS, HEAD_WORDS
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.aligned_memory import aligned_array

PROCESS = 1


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One share of a kernel on one thread.

    Attributes:
        title: the primitive that the kernel belongs to.
        kernel: its number in the order in which a run calls kernels, from 0.
        run: which of the traced runs, from 0.
        share: which part of the kernel's work, from 0.
        shares: into how many parts the work is cut.
        thread: 0 for the caller, from 1 for the workers.
        begin: nanoseconds since the first event began.
        end: the same, of its end.
    """

    title: str
    kernel: int
    run: int
    share: int
    shares: int
    thread: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Trace:
    """The events of some runs, by their beginning; `to_json` is what trace viewers open."""

    events: tuple[TraceEvent, ...]

    def to_json(self) -> dict[str, object]:
        """The trace as JSON values: one row for each thread, times in microseconds."""
        threads = sorted({event.thread for event in self.events})
        names = [_named("process_name", 0, "relay_tune")]
        names += [_named("thread_name", number, _thread_title(number)) for number in threads]
        slices = [*map(_run_slice, self._runs()), *map(_slice, self.events)]
        return {"traceEvents": [*names, *slices], "displayTimeUnit": "ns"}

    def _runs(self) -> Iterator[list[TraceEvent]]:
        """The events of each run."""
        ordered = sorted(self.events, key=lambda event: (event.run, event.begin))
        for _, events in groupby(ordered, key=lambda event: event.run):
            yield list(events)


def _thread_title(number: int) -> str:
    return "calling thread" if number == 0 else f"worker {number}"


def _named(kind: str, thread: int, name: str) -> dict[str, object]:
    return {"name": kind, "ph": "M", "pid": PROCESS, "tid": thread, "args": {"name": name}}


def _run_slice(events: Sequence[TraceEvent]) -> dict[str, object]:
    begin, end = events[0].begin, max(event.end for event in events)
    return _complete(f"run {events[0].run}", "run", 0, begin, end, {})


def _slice(event: TraceEvent) -> dict[str, object]:
    part = {"kernel": event.kernel, "share": event.share, "shares": event.shares}
    return _complete(event.title, "kernel", event.thread, event.begin, event.end, part)


def _complete(
    name: str, category: str, thread: int, begin: int, end: int, about: dict[str, int]
) -> dict[str, object]:
    """A complete event: a slice with a beginning and a duration."""
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "pid": PROCESS,
        "tid": thread,
        "ts": begin / 1e3,
        "dur": (end - begin) / 1e3,
        "args": about,
    }


class EventBuffer:
    """Memory that traced kernels write to; see `relay_tune.codegen.trace_function`.

    Attributes:
        capacity: how many events fit.
    """

    def __init__(self, capacity: int) -> None:
        self._begin = np.zeros(1, np.int64)
        self._first_of_run: list[int] = []
        self.make_room(capacity)

    def make_room(self, capacity: int) -> None:
        """Have room for so many events, and forget those that there are."""
        self.capacity = capacity
        self._words = aligned_array((HEAD_WORDS + capacity * EVENT_WORDS,), np.dtype(np.int64))
        self._begin[0] = self._words.ctypes.data
        self.clear()

    @property
    def address(self) -> int:
        """Where the address of the memory stands."""
        return int(self._begin.ctypes.data)

    @property
    def count(self) -> int:
        """How many events there were, those without room included."""
        return int(self._words[0])

    def clear(self) -> None:
        """Forget all events."""
        self._words[:HEAD_WORDS] = 0
        self._words[1] = self.capacity
        self._first_of_run = []

    def begin_run(self) -> None:
        """Note that what follows belongs to the next run."""
        self._first_of_run.append(int(self._words[0]))

    def trace(self, titles: Sequence[str]) -> Trace:
        """The events of all runs; `titles` are those of the kernels in the order of calls."""
        count = min(int(self._words[0]), self.capacity)
        rows = self._words[HEAD_WORDS : HEAD_WORDS + count * EVENT_WORDS].reshape(-1, EVENT_WORDS)
        threads = _thread_numbers(rows[:, 3].tolist())
        start = int(rows[:, 4].min()) if count else 0
        runs = np.searchsorted(self._first_of_run, np.arange(count), side="right") - 1
        events = [
            TraceEvent(
                titles[kernel], kernel, run, share, shares, threads[who], begin - start, end - start
            )
            for (kernel, share, shares, who, begin, end), run in zip(
                rows.tolist(), runs.tolist(), strict=True
            )
        ]
        return Trace(tuple(sorted(events, key=lambda event: (event.begin, event.thread))))


def _thread_numbers(identities: Iterable[int]) -> dict[int, int]:
    """Small numbers for the threads of the system: 0 for the calling one."""
    own = threading.get_ident()
    others = sorted({each for each in identities if each != own})
    return {own: 0} | {each: number for number, each in enumerate(others, start=1)}
