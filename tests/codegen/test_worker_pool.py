from __future__ import annotations

import subprocess
import sys

import pytest

from relay_tune.codegen.worker_pool import WorkerPool
from relay_tune.errors import BuildError

SERVE = """
import sys
from relay_tune.codegen.worker_pool import serve
serve(sys.stdin.buffer, sys.stdout.buffer, bytes.upper)
"""


def pool(*scripts: str) -> WorkerPool:
    """A pool whose processes run these scripts, one after another."""
    left = iter(scripts)

    def start() -> subprocess.Popen[bytes]:
        words = [sys.executable, "-c", next(left)]
        pipe = subprocess.PIPE  # in sessions of their own, which is how workers are killed
        return subprocess.Popen(words, stdin=pipe, stdout=pipe, start_new_session=True)

    return WorkerPool(start, 1)


def test_a_process_that_is_killed_is_replaced() -> None:
    killed = "import os; os.kill(os.getpid(), 9)"
    with pool(killed, SERVE) as workers:
        assert workers.submit(b"text").result() == b"TEXT"


def test_work_at_which_two_processes_end_is_an_error() -> None:
    with pool("", "") as workers, pytest.raises(BuildError, match="ended before its work"):
        workers.submit(b"text").result()


def test_work_that_is_aborted_is_not_begun_again() -> None:
    with pool("import time; time.sleep(60)", SERVE) as workers:
        reply = workers.submit(b"text")
        while not workers._processes:
            pass
        workers.abort()
        with pytest.raises(BuildError, match="ended before its work"):
            reply.result()
