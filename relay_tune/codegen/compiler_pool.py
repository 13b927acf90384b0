"""Compiling in several processes (LLVM's binding holds a lock, so threads would not help).

The workers are plain child processes with pipes: nothing is imported from the caller's main module,
so scripts need no guard, and nothing is forked.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from concurrent.futures import Future
from dataclasses import asdict

from relay_tune.codegen.target import Target
from relay_tune.codegen.worker_pool import WorkerPool
from relay_tune.codegen.worker_process import start_worker

YIELDING = 10
"""The niceness of processes that yield."""

REMEMBERED_BYTES = 4 << 20
"""Of objects that a pool keeps for texts that come again: schedules often share kernels."""


class CompilerPool:
    """Compiles texts in `workers` processes, which start when the first text comes.

    Those of a pool that `yields` leave the processor to the caller's process where there is too
    little for both: the caller then writes the next text while they compile.

    with CompilerPool(target, 4) as pool:
        objects = [future.result() for future in [pool.submit(text) for text in texts]]
    """

    def __init__(
        self,
        target: Target,
        workers: int,
        *,
        yields: bool = False,
        remembered_bytes: int = REMEMBERED_BYTES,
    ) -> None:
        self._target = target
        self._remembered_bytes = remembered_bytes
        self._niceness = YIELDING if yields else 0
        self._objects: dict[bytes, Future[bytes]] = {}
        self._workers = WorkerPool(self._start, workers)

    def __enter__(self) -> CompilerPool:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._workers.__exit__(kind, error, trace)

    def submit(self, text: str) -> Future[bytes]:
        """The object file of an LLVM module, some time later; BuildError if LLVM rejects it.

        A text that was compiled not long ago is not compiled again.
        """
        digest = hashlib.sha256(text.encode()).digest()
        known = self._objects.pop(digest, None)
        if known is None or _has_failed(known):
            known = self._workers.submit(text.encode())
        self._objects[digest] = known
        self._forget()
        return known

    def _forget(self) -> None:
        """Let go of failures, and of the oldest objects beyond the bytes that a pool keeps."""
        done = {digest: each for digest, each in self._objects.items() if each.done()}
        sizes = {d: 0 if _has_failed(each) else len(each.result()) for d, each in done.items()}
        excess = sum(sizes.values()) - self._remembered_bytes
        for digest, size in sizes.items():
            if excess > 0 or not size:
                del self._objects[digest]
                excess -= size

    def abort(self) -> None:
        """Kill the processes; what they are compiling fails, later texts get new processes."""
        self._workers.abort()

    def close(self) -> None:
        """Drop what has not begun, and end the processes."""
        self._workers.close()

    def _start(self) -> subprocess.Popen[bytes]:
        target = json.dumps(asdict(self._target))
        return start_worker("relay_tune.codegen.compile_worker", [target, str(self._niceness)])


def _has_failed(future: Future[bytes]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)
