"""Worker processes that answer requests, bytes for bytes.

A request is its length (8 bytes, little-endian) and the content; a reply is one byte (0: a result,
1: an error message), the length, and the content. A worker ends with its input.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, BinaryIO

from relay_tune.codegen.worker_process import kill_worker
from relay_tune.errors import BuildError
from relay_tune.system_limits import told_limits

LENGTH_BYTES = 8

Answer = Callable[[bytes], bytes]
"""A worker's answer to a request; raises BuildError where there is none."""


class _EndedError(BuildError):
    """A process that ended before it answered."""


class WorkerPool:
    """Up to `workers` processes, each of which starts when a request finds no idle one.

    with WorkerPool(start, 4) as pool:
        replies = [future.result() for future in [pool.submit(data) for data in requests]]
    """

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]], workers: int) -> None:
        self._start = start
        self._threads = ThreadPoolExecutor(max_workers=max(1, workers))
        self._local = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._aborts = 0

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:  # nobody wants what is under way any more
            self._threads.shutdown(wait=False, cancel_futures=True)
            self.abort()
        self.close()

    def start(self) -> None:
        """Start a process before there is a request, so that it is ready for the first one."""
        with told_limits():
            self._threads.submit(self._process)

    def submit(self, request: bytes) -> Future[bytes]:
        """The reply, some time later; BuildError where it is an error, or two processes ended."""
        with told_limits():
            return self._threads.submit(self._ask, request)

    def abort(self) -> None:
        """Kill the processes; what they are doing fails, later requests get new processes."""
        self._aborts += 1
        for process in self._processes:
            kill_worker(process)

    def close(self) -> None:
        """Drop what has not begun, and end the processes."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._processes:
            process.communicate()
        self._processes.clear()

    def _ask(self, request: bytes) -> bytes:
        """The reply. A process may be killed from outside, so that its end is no answer yet."""
        aborts = self._aborts
        try:
            return self._ask_once(request)
        except _EndedError:
            if self._aborts != aborts:
                raise
        return self._ask_once(request)

    def _ask_once(self, request: bytes) -> bytes:
        process = self._process()
        assert process.stdin is not None and process.stdout is not None
        try:
            return _exchange(process.stdin, process.stdout, request)
        except (OSError, EOFError) as error:
            process.kill()
            self._local.process = None
            raise _EndedError(
                "A compiler process ended before its work was done.",
                notes=(f"Its exit code is {process.wait()}.",),
                remedy="Is the machine out of memory?",
            ) from error

    def _process(self) -> subprocess.Popen[bytes]:
        """The process of this thread."""
        process: subprocess.Popen[bytes] | None = getattr(self._local, "process", None)
        if process is None or process.poll() is not None:
            process = self._start()
            self._local.process = process
            self._processes.append(process)
        return process


def serve(requests: BinaryIO, replies: BinaryIO, answer: Answer) -> None:
    """Answer requests until there are no more; what a worker does."""
    while True:
        head = requests.read(LENGTH_BYTES)
        if len(head) < LENGTH_BYTES:
            return
        status, content = _answered(answer, requests.read(int.from_bytes(head, "little")))
        replies.write(status + len(content).to_bytes(LENGTH_BYTES, "little") + content)
        replies.flush()


def _answered(answer: Answer, request: bytes) -> tuple[bytes, bytes]:
    try:
        return b"\0", answer(request)
    except BuildError as error:
        return b"\1", str(error).encode()


def _exchange(requests: IO[bytes], replies: IO[bytes], request: bytes) -> bytes:
    requests.write(len(request).to_bytes(LENGTH_BYTES, "little") + request)
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
