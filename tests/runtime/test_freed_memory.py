"""Pages of the compiler's library that a process lets go of."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.runtime.direct.code import direct_code
from relay_tune.runtime.freed_memory import unchanged_mappings, unmap_compiler_pages

LIBRARY = "/site-packages/llvmlite/binding/libllvmlite.so"
MAPPINGS = f"""\
1000-3000 r--p 00000000 08:01 7          {LIBRARY}
Rss:                   8 kB
Anonymous:             0 kB
3000-5000 r-xp 00002000 08:01 7          {LIBRARY}
Anonymous:             4 kB
VmFlags: rd ex mr mw me
5000-6000 rw-p 00004000 08:01 7          {LIBRARY}
Anonymous:             0 kB
6000-7000 r--p 00000000 08:01 8          /usr/lib/libc.so.6
Anonymous:             0 kB
7000-8000 r-xp 00000000 00:00 0
Anonymous:             0 kB
8000-a000 r-xp 00006000 08:01 7          {LIBRARY}
Anonymous:             0 kB
"""


def test_mappings_that_were_written_stay() -> None:
    assert list(unchanged_mappings(MAPPINGS.splitlines())) == [(0x1000, 0x3000), (0x8000, 0xA000)]


def _resident_file_pages() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssFile"))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_compiler_goes_on_after_its_pages_are_gone() -> None:
    text = "def @main(%x: Tensor[(n), float32]) {{ nn.relu(%x) + {}f }}"
    rt.build(rt.parse(text.format(1)), threads=1)
    before = _resident_file_pages()
    unmap_compiler_pages()
    assert _resident_file_pages() < before - 20_000
    model = rt.build(rt.parse(text.format(2)), threads=1)
    np.testing.assert_array_equal(model(np.float32([-1, 1])), [2, 3])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_that_only_calls_programs_keeps_no_pages_of_the_compiler() -> None:
    rt.build(rt.parse("def @main(%x: Tensor[(3), float32]) { exp(%x) }"), threads=1)
    before = _resident_file_pages()
    direct_code.__wrapped__()
    assert _resident_file_pages() < before - 20_000
