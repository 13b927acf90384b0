"""Products on matrix registers whose number of rows only a run knows."""

import numpy as np
import pytest

from relay_tune.building import primitives
from relay_tune.building.build import build
from relay_tune.codegen.target import native_target
from relay_tune.frontend.relay_text import parse
from relay_tune.machine.machine import Machine
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.plan import Plan, cheapest_schedule
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products import blocks, record
from relay_tune.schedule.schedule import Schedule
from relay_tune.transform.bind_parameters import BindParameters
from tests.building.open_programs import floats

pytestmark = pytest.mark.skipif(not native_target().intrinsics, reason="needs matrix registers")

DENSE = """
def @main(%x: Tensor[(n, m, 256), float32], %w: Tensor[(256, 256), float32]) {
  nn.relu(nn.dense(%x, %w))
}
"""
IMAGES = """
def @main(%x: Tensor[(n, 256, 7, 7), float32], %w: Tensor[(256, 256, 1, 1), float32]) {
  nn.relu(nn.conv2d(%x, %w, channels=256, kernel_size=[1, 1]))
}
"""
WHOLE = """
def @main(%x: Tensor[(n, 784, 256), float32], %w: Tensor[(256, 256), float32]) {
  nn.relu(nn.dense(%x, %w))
}
"""
PIXELS = """
def @main(%x: Tensor[(1, 64, h, w), float32], %k: Tensor[(64, 64, 3, 3), float32]) {
  nn.relu(nn.conv2d(%x, %k, channels=64, kernel_size=[3, 3], padding=[1, 1], strides=[2, 2]))
}
"""
BYTES = """
def @main(%x: Tensor[(n, m, 256), uint8], %w: Tensor[(256, 256), int8]) {
  nn.dense(%x, %w, out_dtype="int32")
}
"""
CASES = {
    "dense": (DENSE, (256, 256), [(1, n, 256) for n in (1, 7, 15, 16, 17, 31, 33, 50, 97)]),
    "two sizes": (DENSE, (256, 256), [(3, 5, 256), (2, 40, 256), (9, 13, 256)]),
    "images": (IMAGES, (256, 256, 1, 1), [(n, 256, 7, 7) for n in (1, 2, 5, 9)]),
    "whole registers": (WHOLE, (256, 256), [(n, 784, 256) for n in (1, 2, 3)]),
    "pixels": (
        PIXELS,
        (64, 64, 3, 3),
        [(1, 64, h, w) for h, w in ((1, 1), (3, 31), (5, 32), (9, 81), (41, 112))],
    ),
    "bytes": (BYTES, (256, 256), [(n, m, 256) for n, m in ((1, 1), (1, 17), (3, 5), (2, 40))]),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", ["dense", "two sizes", "images", "whole registers"])
def test_any_number_of_rows_in_blocks(
    case: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "FAR_BYTES", 0)
    monkeypatch.setattr(record, "LARGE_PRODUCTS", 0)
    chosen: list[AppliedAlgorithm] = []

    def in_blocks(plan: Plan, machine: Machine, threads: int) -> tuple[float, Schedule]:
        known = [each for each in plan.algorithms_on(machine) if "block=" in str(each)]
        chosen.extend(known)
        return cheapest_schedule(
            [plan.with_algorithm(each) for each in known] or [plan], machine, threads
        )

    monkeypatch.setattr(Plan, "_cheapest", in_blocks)
    text, weights, shapes = CASES[case]
    module = BindParameters({"w": floats(*weights)})(parse(text))
    model = build(module, threads=threads)
    assert chosen
    for shape in (*shapes, tuple(130 if each == shapes[0][0] else each for each in shapes[0])):
        x = floats(*shape)
        expected = np.asarray(interpret(module, x))
        np.testing.assert_allclose(model(x), expected, rtol=0, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_any_number_of_rows(case: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text, weights, shapes = CASES[case]
    is_bytes = case == "bytes"
    written: list[str] = []
    write = primitives.module_text
    monkeypatch.setattr(
        primitives, "module_text", lambda *args: written.append(write(*args)) or written[-1]
    )
    rng = np.random.default_rng(1)
    w = rng.integers(-99, 99, weights).astype("int8") if is_bytes else floats(*weights)
    parsed = parse(text)
    module = BindParameters({parsed.main.params[1].name: w})(parsed)
    model = build(module, threads=threads)
    assert any("i64 %n0" in each and "@llvm.x86.tdpb" in each for each in written)
    for shape in shapes:
        x = rng.integers(0, 255, shape).astype("uint8") if is_bytes else floats(*shape)
        expected = np.asarray(interpret(module, x))
        np.testing.assert_allclose(model(x), expected, rtol=0, atol=1e-5 * np.abs(expected).max())
