from __future__ import annotations

import numpy as np

from relay_tune.tensor.expression import INDEX, Axis, literal
from relay_tune.tensor.loops import (
    Buffer,
    BufferScope,
    Kernel,
    Loop,
    LoopBuilder,
    LoopKind,
    Store,
)
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.run_loops import run_loops


def test_statements_are_indented_by_their_nesting() -> None:
    out = Buffer(name="out", shape=(8,), dtype="float32", scope=BufferScope.ARGUMENT)
    builder = LoopBuilder()
    total = builder.local("total", (1,), "float32")
    builder.store(total, (0,), 0.0)
    with builder.loop("i", 8) as i, builder.when(out[i]):
        builder.store(total, (0,), total[0] + out[i])
    with builder.while_(total[0]):
        builder.store(out, (0,), total[0] * total[0])
    kernel = Kernel("k", (out,), (out,), builder.statement())
    assert kernel_text(kernel).splitlines() == [
        "kernel k(out: float32[8])",
        "  local total: float32[1]",
        "  total[0] = 0",
        "  for i in 0 .. 8",
        "    if out[i]",
        "      total[0] = total[0] + out[i]",
        "  while total[0]",
        "    out[0] = total[0] * total[0]",
    ]


def test_definitions_stand_before_the_store() -> None:
    out = Buffer(name="out", shape=(1,), dtype="float32", scope=BufferScope.ARGUMENT)
    twice = out[0] + 1.0
    body = Store(out, (), twice * twice)
    lines = kernel_text(Kernel("k", (out,), (out,), body)).splitlines()
    assert lines[1:] == ["  t0 = out[0] + 1", "  out[] = t0 * t0"]


def test_what_a_thread_runs_of_a_loop_has_names() -> None:
    out = Buffer(name="out", shape=(8,), dtype="int64", scope=BufferScope.ARGUMENT)
    i, begin, end = Axis("i", 8), Axis("begin", 9), Axis("end", 9)
    ends = literal(0, INDEX), literal(8, INDEX)
    loop = Loop(i, *ends, Store(out, (i,), end - begin), LoopKind.PARALLEL, (begin, end))
    lines = kernel_text(Kernel("k", (out,), (out,), loop)).splitlines()
    assert lines[1] == "  parallel i in 0 .. 8, a thread's share begin .. end"
    found = np.zeros(8, np.int64)
    run_loops(loop, {out: found})
    assert found.tolist() == [8] * 8
