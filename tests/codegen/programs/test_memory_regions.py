"""Where a session takes its memory from."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.programs.heap import add_heap
from relay_tune.codegen.programs.memory_regions import SMALLEST_LARGE, add_regions
from relay_tune.frontend.relay_text import parse

PROBABILITIES = """#[version = "0.0.5"]
def @main(%x: Tensor[(ROWS, 8), float32]) {
  let %all = nn.softmax(nn.dense(%x, exp(%x)));
  sum(nn.dense(%all, %all), axis=[1])
}"""


def text_for(triple: str) -> str:
    module = NativeModule()
    add_heap(module)
    add_regions(module, triple)
    return module.text(triple)


def test_systems_with_advice_about_pages_are_asked() -> None:
    assert "@madvise(" in text_for("x86_64-unknown-linux-gnu")
    assert "@madvise(" not in text_for("arm64-apple-darwin")


def large_page_bytes() -> int:
    """How much of this process's memory large pages were asked for."""
    total = size = 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split()
        if first == "Size:":
            size = int(rest[0]) << 10
        elif first == "VmFlags:" and "hg" in rest:
            total += size
    return total


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")
@pytest.mark.parametrize(("rows", "asked"), [(64, 0), (2048, SMALLEST_LARGE)])
def test_what_lies_between_kernels_is_in_large_pages(rows: int, asked: int) -> None:
    model = build(parse(PROBABILITIES.replace("ROWS", str(rows))), threads=1)
    data = np.ones((rows, 8), np.float32)
    before = large_page_bytes()
    np.testing.assert_allclose(model(data), np.ones(rows), rtol=1e-5)
    assert (large_page_bytes() - before >= asked) if asked else large_page_bytes() == before
