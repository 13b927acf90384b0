"""Compiling in several processes (LLVM's binding holds a lock, so threads would not help).

The workers are plain child processes with pipes: nothing is imported from the caller's main module,
so scripts need no guard, and nothing is forked.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from types import TracebackType
from typing import IO

from relay_tune.codegen.compile_worker import LENGTH_BYTES
from relay_tune.codegen.target import Target
from relay_tune.codegen.worker_process import kill_worker, start_worker
from relay_tune.errors import BuildError

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
        self._threads = ThreadPoolExecutor(max_workers=max(1, workers))
        self._local = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> CompilerPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:  # nobody wants what is under way any more
            self._threads.shutdown(wait=False, cancel_futures=True)
            self.abort()
        self.close()

    def submit(self, text: str) -> Future[bytes]:
        """The object file of an LLVM module, some time later; BuildError if LLVM rejects it.

        A text that was compiled not long ago is not compiled again.
        """
        digest = hashlib.sha256(text.encode()).digest()
        known = self._objects.pop(digest, None)
        if known is None or _has_failed(known):
            known = self._threads.submit(self._compile, text)
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
        for process in self._processes:
            kill_worker(process)

    def close(self) -> None:
        """Drop what has not begun, and end the processes."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._processes:
            process.communicate()
        self._processes.clear()

    def _compile(self, text: str) -> bytes:
        process = self._process()
        assert process.stdin is not None and process.stdout is not None
        try:
            return _exchange(process.stdin, process.stdout, text)
        except (OSError, EOFError) as error:
            process.kill()
            self._local.process = None
            raise BuildError(
                "A compiler process ended before its work was done.",
                notes=(f"Its exit code is {process.wait()}.",),
                remedy="Is the machine out of memory?",
            ) from error

    def _process(self) -> subprocess.Popen[bytes]:
        """The process of this thread."""
        process: subprocess.Popen[bytes] | None = getattr(self._local, "process", None)
        if process is None or process.poll() is not None:
            process = start_worker(
                "relay_tune.codegen.compile_worker",
                [json.dumps(asdict(self._target)), str(self._niceness)],
            )
            self._local.process = process
            self._processes.append(process)
        return process


def _has_failed(future: Future[bytes]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def _exchange(requests: IO[bytes], replies: IO[bytes], text: str) -> bytes:
    data = text.encode()
    requests.write(len(data).to_bytes(LENGTH_BYTES, "little") + data)
    requests.flush()
    status = _read(replies, 1)
    content = _read(replies, int.from_bytes(_read(replies, LENGTH_BYTES), "little"))
    if status != b"\0":
        raise BuildError(content.decode())
    return content


def _read(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data
