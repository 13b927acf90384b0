"""Which kernels may write where they read."""

import random

import numpy as np
import pytest

from relay_tune.codegen.kernels.kernel_writer import write_kernel
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Scalar, binary
from relay_tune.tensor.in_place import can_be_in_place
from relay_tune.tensor.loops import (
    Branch,
    Buffer,
    Kernel,
    LaneReduce,
    Let,
    Loop,
    LoopKind,
    Prefetch,
    Statement,
    Store,
)
from relay_tune.tensor.tensor import compute, input_tensor
from tests.codegen.running import argument, loop, number
from tests.schedule.comparing import difference
from tests.schedule.random_programs import random_program
from tests.schedule.running import program_of, run_schedule, runnable_targets
from tests.schedule.test_every_schedule import random_schedule

X, Y, Z = (argument(name, 64) for name in "xyz")
SQUARE = argument("square", (8, 8))
N, J, T, L = Axis("i", 64), Axis("j", 8), Axis("t", 8), Axis("l", 8)


def kernel(*body: Statement, tensors: tuple[Buffer, ...] = (X, Y, Z, SQUARE)) -> Kernel:
    inside = body[0] if len(body) == 1 else loop(Axis("once", 1), *body)
    return Kernel("kernel", tensors, tensors, inside)


def stored(value: Scalar, place: Scalar = N, into: Buffer = Y) -> Store:
    return Store(into, (place,), value)


def part(begin: int, end: int) -> Loop:
    return Loop(N, number(begin), number(end), stored(X[N] + 1.0))


TILE = T * 8 + L
EDGES = Branch(binary("lt", T, 5), loop(L, stored(X[TILE], TILE)), loop(L, stored(X[TILE], TILE)))
ONLY_FIRST = Branch(binary("lt", T, 5), loop(L, stored(X[TILE], TILE)))
EDGE = Branch(binary("lt", T, 5), stored(X[TILE], TILE), stored(X[TILE], TILE))
OTHER = Axis("other", 8)
FUSED = Axis("fused", 64)


def fused(*values: Scalar, inside: Statement | None = None, count: int = 64) -> Loop:
    """A loop over tiles whose numbers T, L, J are found again from that of all."""
    body = inside or stored(X[TILE], TILE)
    for axis, value in reversed(list(zip((T, L, J), values, strict=False))):
        body = Let(axis, value, body)
    return Loop(FUSED, number(0), number(count), body, LoopKind.PARALLEL)


TWO = (binary("floordiv", FUSED, 8), binary("floormod", FUSED, 8))
THREE = (
    binary("floordiv", FUSED, 8),
    binary("floormod", binary("floordiv", FUSED, 2), 4),
    binary("floormod", FUSED, 2),
)
PAIR = T * 8 + L * 2 + J
SAFE = {
    "elements": [loop(N, stored(X[N] * X[N] + Z[N]))],
    "not read": [loop(N, stored(Z[N]))],
    "parts": [part(0, 40), part(40, 64)],
    "tiles": [
        loop(T, loop(L, stored(X[TILE], TILE), kind=LoopKind.VECTOR), kind=LoopKind.PARALLEL)
    ],
    "edges": [loop(T, EDGES)],
    "let": [loop(T, loop(L, Let(N, TILE, stored(X[N] + 1.0, TILE))))],
    "edges by let": [loop(OTHER, Let(T, OTHER + 0, EDGES))],
    "fused": [fused(*TWO)],
    "three fused": [fused(*THREE, inside=stored(X[PAIR], PAIR))],
    "edges of fused": [fused(*TWO, inside=EDGE)],
    "prefetched": [loop(N, Prefetch(X, (N + 4,)), stored(X[N]))],
}
UNSAFE = {
    "reversed": [loop(N, stored(X[63 - N]))],
    "overlapping": [part(0, 40), part(24, 64)],
    "some": [part(0, 40)],
    "twice": [loop(J, loop(N, stored(X[N])))],
    "read beside": [loop(N, stored(X[N]), Store(Z, (N,), X[N]))],
    "read again": [loop(N, stored(X[N] + Y[N]))],
    "not for all": [loop(T, ONLY_FIRST)],
    "by value": [loop(N, Branch(binary("lt", X[N], 0.0), stored(X[N]), stored(-X[N])))],
    "fused, others read": [fused(*TWO, inside=stored(X[L * 8 + T], TILE))],
    "some of fused": [fused(*TWO, count=56)],
    "edges of what is no digit": [fused(TWO[0], binary("floormod", FUSED, 4), inside=EDGE)],
    "lanes": [loop(N, stored(LaneReduce("sum", L, (X[N],), dtype="float32")))],
}


@pytest.mark.parametrize("body", SAFE.values(), ids=list(SAFE))
def test_safe(body: list[Statement]) -> None:
    assert can_be_in_place([kernel(*body)], X, Y)


@pytest.mark.parametrize("body", UNSAFE.values(), ids=list(UNSAFE))
def test_unsafe(body: list[Statement]) -> None:
    assert not can_be_in_place([kernel(*body)], X, Y)


def test_offsets_count_not_dimensions() -> None:
    rows, columns = ([loop(T, loop(L, stored(SQUARE[at], TILE)))] for at in ((T, L), (L, T)))
    assert can_be_in_place([kernel(*rows)], SQUARE, Y)
    assert not can_be_in_place([kernel(*columns)], SQUARE, Y)


def test_other_kernels_and_types() -> None:
    whole = kernel(part(0, 64))
    assert can_be_in_place([whole], X, Y)
    assert not can_be_in_place([whole, kernel(loop(N, Store(Z, (N,), X[N])))], X, Y)
    assert can_be_in_place([whole, kernel(loop(N, Store(Z, (N,), SQUARE[0, 0])))], X, Y)
    half = argument("half", 64, "float16")
    assert not can_be_in_place([whole], half, Y)
    assert not can_be_in_place([whole], argument("short", 32), Y)


def test_parameters_that_share_memory_are_not_said_to_be_apart() -> None:
    tensors = (X, Y)
    text = write_kernel(Kernel("k", tensors, tensors, part(0, 64), shared=frozenset([1]))).text
    assert "ptr noalias align 4 %arg0, ptr align 4 %arg1" in text


@pytest.mark.parametrize("seed", range(12))
def test_schedules_that_may_run_in_place_do(seed: int) -> None:
    check_in_place(seed)


def check_in_place(seed: int, points: int = 2) -> int:
    """Programs with one more elementwise step, under random schedules; how many ran in place."""
    program, rng, count = random_program(seed), random.Random(seed), 0
    (output, *_) = program.outputs
    if output.dtype not in ("float32", "int32"):
        return 0
    extra = input_tensor("extra", output.shape, output.dtype)
    more = compute("more", output.shape, lambda *at: output[at] + extra[at])
    data = np.ones(output.shape, output.dtype) * 3
    feeds = {extra: data, **program.feeds}
    plan = plan_program(program_of([more], feeds, program.constants))
    expected = evaluate([more], feeds)
    for point in range(points):
        target, threads = rng.choice(runnable_targets()), rng.choice([1, 3])
        machine = machine_of(target)
        schedule = random_schedule(rng, plan) if point else plan.default_schedule(machine, threads)
        scheduled = apply_schedule(plan, schedule)
        inputs = scheduled.program.inputs
        for read, tensor in enumerate(inputs):
            if not can_be_in_place(scheduled.kernels, tensor, scheduled.program.outputs[0]):
                continue
            count += 1
            found = run_schedule(plan, schedule, target, feeds, threads=threads, in_place=(read, 0))
            assert difference(found[0], expected[0], coarse=False) is None
    return count


def test_words_of_a_tensor_are_no_elements_of_it() -> None:
    x, y, words = argument("x", 64, "uint8"), argument("y", 64, "uint8"), argument("words", 16)
    body = loop(N, Store(y, (N,), x[N]))
    assert can_be_in_place([Kernel("kernel", (x, y), (x, y), body)], x, y)
    sums = argument("sums", 64)
    read = loop(Axis("once", 1), Store(sums, (number(0),), words[number(0)]), body)
    both = Kernel("kernel", (words, x, y, sums), (x, x, y, sums), read)
    assert not can_be_in_place([both], x, y)
    swapped = Kernel("kernel", (x, words, y, sums), (x, x, y, sums), read)
    assert not can_be_in_place([swapped], x, y)
