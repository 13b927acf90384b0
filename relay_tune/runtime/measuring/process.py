"""The process in which candidates run, as its parent sees it: messages to and fro, its end."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from typing import Any

from relay_tune.codegen.worker_process import kill_worker, start_worker
from relay_tune.runtime.measuring.message import read_message, write_message
from relay_tune.system_limits import told_limits

END_SECONDS = 5.0
"""How long a worker that has closed its output may take to end."""

Reply = dict[str, Any]


class MeasuringProcess:
    """A worker process; a thread reads its replies so that waiting for one can time out."""

    def __init__(self, memory_bytes: int) -> None:
        arguments = json.dumps({"memory_bytes": memory_bytes})
        self._process: subprocess.Popen[bytes] = start_worker(
            "relay_tune.runtime.measuring.worker", [arguments]
        )
        self._replies: queue.Queue[Reply | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        with told_limits():
            self._reader.start()

    def send(self, header: dict[str, Any], blobs: tuple[bytes, ...]) -> None:
        """Send a message; that the worker is dead shows when its reply is read."""
        assert self._process.stdin is not None
        try:
            write_message(self._process.stdin, header, blobs)
        except OSError:
            self._replies.put(None)

    def receive(self, seconds: float) -> Reply | None:
        """The next reply; None if the worker died; queue.Empty if none comes in time."""
        return self._replies.get(timeout=seconds)

    def exit_code(self) -> int:
        """The exit code of a worker that ends by itself; negative for a signal."""
        try:
            return self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()

    def kill(self) -> None:
        """End the process and wait until it is gone."""
        kill_worker(self._process)
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            _close(stream)

    def _read(self) -> None:
        assert self._process.stdout is not None
        while (message := read_message(self._process.stdout)) is not None:
            self._replies.put(message[0])
        self._replies.put(None)


def _close(stream: Any) -> None:
    try:
        stream.close()
    except OSError:
        return  # unsent bytes of a message to a dead worker
