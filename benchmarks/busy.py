"""Other work on the machine, for campaigns that want a busy one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BUSY = {
    "computing": "while time.monotonic() < end and os.getppid() == parent: sum(range(10_000))",
    "moving": "import numpy; a = numpy.ones(8 << 20)\n"
    "while time.monotonic() < end and os.getppid() == parent: a[1:] = a[:-1]",
}
"""What the busy processes do, until their time is over or this process is gone."""


@contextmanager
def busy_processes(count: int, seconds: float) -> Iterator[None]:
    """So many processes that compute or move memory all the time, for so long at most."""
    head = f"import os, time\nparent = os.getppid()\nend = time.monotonic() + {seconds}\n"
    texts = [head + list(BUSY.values())[number % len(BUSY)] for number in range(count)]
    started = [subprocess.Popen([sys.executable, "-c", text]) for text in texts]
    try:
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()
