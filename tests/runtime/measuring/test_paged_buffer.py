"""Memory between pages that must not be touched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from relay_tune.runtime.measuring.paged_buffer import PagedBuffer, Side


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("size", [0, 1, 100, 4096, 10_000])
def test_its_content_is_its_own(side: Side, size: int) -> None:
    buffer = PagedBuffer(size)
    buffer.use(side)
    buffer.poison()
    assert len(buffer.content) == size
    assert buffer.intact
    assert (buffer.content == 0xFF).all()
    assert buffer.address % 4 == 0


def test_a_byte_beside_the_content_is_noticed() -> None:
    for side, offset in ((Side.BEGIN, 100), (Side.END, -1)):
        buffer = PagedBuffer(100)
        buffer.use(side)
        buffer._usable[buffer._start + offset] = 0
        assert not buffer.intact
        buffer.use(side)
        assert buffer.intact


def test_scratch_begins_on_cache_lines() -> None:
    buffer = PagedBuffer(100, alignment=64)
    buffer.use(Side.END)
    assert buffer.address % 64 == 0


@pytest.mark.skipif(sys.platform == "win32", reason="pages of POSIX")
@pytest.mark.parametrize(
    ("side", "offset"), [("BEGIN", -1), ("END", 400), ("END", 8400), ("BEGIN", -60_000)]
)
def test_a_read_beyond_the_guarded_end_ends_the_process(side: str, offset: int) -> None:
    script = f"""
import ctypes
from relay_tune.runtime.measuring.paged_buffer import PagedBuffer, Side
buffer = PagedBuffer(400)
buffer.use(Side.{side})
print(ctypes.string_at(buffer.address, 400) == bytes(buffer.content), flush=True)
ctypes.string_at(buffer.address + {offset}, 1)
print("read", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "True\n"
    assert done.returncode == -11


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what is mapped")
def test_memory_is_given_back() -> None:
    """Tasks come and go in a worker that lives as long as the run."""
    before = _mapped()
    for _ in range(200):
        buffer = PagedBuffer(5000)
        buffer.use(Side.END)
        buffer.content[:] = np.arange(5000) % 7
    assert _mapped() < before + 30


def _mapped() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())
