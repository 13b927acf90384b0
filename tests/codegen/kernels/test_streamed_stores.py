"""Large results that are filled with a constant."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.kernels.kernel_writer import write_kernel
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import parse_target
from relay_tune.frontend.relay_text import parse
from relay_tune.machine.architecture import Streaming
from relay_tune.targets.x86.record import STREAMING
from relay_tune.tensor.expression import Axis, literal
from relay_tune.tensor.loops import Kernel, LoopKind, Store
from tests.codegen.running import NATIVE, argument, loop

SMALL = replace(STREAMING, bytes=4000)
SIZE = 1 << 10


def fill(lanes: int = 16, step: int = 32, start: int = 0, size: int = SIZE) -> Kernel:
    """Every second vector of a result becomes 7."""
    outer, lane = Axis("outer", size // step), Axis("lane", lanes)
    y = argument("y", size)
    store = Store(y, (outer * step + lane + start,), literal(7, "float32"))
    body = loop(outer, loop(lane, store, kind=LoopKind.VECTOR))
    return Kernel("kernel", (y,), (y,), body)


def is_streamed(kernel: Kernel, streaming: Streaming | None = SMALL) -> bool:
    """Whether its stores pass the caches by; then a fence ends it."""
    text = write_kernel(kernel, streaming=streaming).text
    assert ("nontemporal" in text) == ("sfence" in text)
    return "nontemporal" in text


def test_whole_lines_of_large_results_are_streamed() -> None:
    assert is_streamed(fill())
    assert not is_streamed(fill(), STREAMING), "small"
    assert not is_streamed(fill(), None), "no such stores"
    assert not is_streamed(fill(lanes=8)), "half a line"
    assert not is_streamed(fill(start=1)), "not at a multiple of 16 bytes"
    assert not is_streamed(fill(step=33, size=33 * 40)), "nor in each step"


def test_results_of_open_size_are_not_streamed() -> None:
    module = parse("def @main(%n: Tensor[(2), int64]) { dyn.ones(%n) }")
    result = np.asarray(build(module, threads=1)(np.array([300, 400])))
    assert result.shape == (300, 400)
    assert (result == 1).all()


def test_architectures_without_such_stores_have_none() -> None:
    large = fill(size=1 << 24)
    arm, server = parse_target("aarch64-linux-gnu"), parse_target("x86_64-linux-gnu:skylake-avx512")
    assert "nontemporal" not in module_text([large], arm)
    assert "nontemporal" in module_text([large], server)


@pytest.mark.skipif(not NATIVE.triple.startswith("x86_64"), reason="instructions of x86")
@pytest.mark.parametrize("offset", [0, 4, 16, 64])
def test_they_store_what_others_store_wherever_memory_lies(offset: int) -> None:
    target = parse_target(f"x86_64-linux-gnu:{NATIVE.cpu}:{NATIVE.features}")
    size = (STREAMING.bytes >> 2) + 32
    text = module_text([fill(size=size)], target)
    assert "nontemporal" in text
    code = LoadedCode([compile_text(text, target)], ["kernel"])
    room = np.zeros(size + 64, np.float32)
    begin = (-room.ctypes.data % 64 + offset) // 4
    function = code.function("kernel", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    function(room.ctypes.data + 4 * begin, 0, 1)
    found = room[begin : begin + size].reshape(-1, 2, 16)
    assert (found[:, 0] == 7).all()
    assert (found[:, 1] == 0).all()
    assert not room[:begin].any()
    assert not room[begin + size :].any()
