from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest

from benchmarks.bandwidth import Kernel, Row, depthwise, kernels, program
from benchmarks.moving import Mover, moving_text, step_bytes
from relay_tune import build
from relay_tune.codegen.target import native_target, parse_target


@pytest.mark.parametrize(("read", "written"), [(4, 4), (7, 3), (3, 7)])
def test_loop_copies_what_is_read_and_written(read: int, written: int) -> None:
    step = step_bytes(native_target())
    mover = Mover(read * step, written * step, rounds=2)
    mover.source[:] = np.arange(read * step) % 251
    mover.target[:] = 255
    mover()
    both = min(read, written) * step
    np.testing.assert_array_equal(mover.target[:both], mover.source[:both])
    assert not mover.target[both:].any()


def test_loop_is_valid_for_narrow_vectors_too() -> None:
    text = moving_text(parse_target("x86_64-linux-gnu:haswell"))
    llvm.parse_assembly(text).verify()
    assert "<8 x float>" in text


def test_share_is_the_time_of_the_limit_in_that_of_the_kernel() -> None:
    assert Row("copy", 100, "L1", 1, seconds=4.0, limit_seconds=3.0).share == 0.75


def test_every_kernel_is_a_typed_program() -> None:
    for kernel in kernels():
        _, inputs = program(kernel)
        assert len(inputs) == len(kernel.shapes) - kernel.weights


def test_small_kernel_builds() -> None:
    module, inputs = program(depthwise(8, 4, 1))
    assert np.asarray(build(module, threads=1)(*inputs)).shape == (1, 4, 4, 8)
    module, inputs = program(Kernel("sum", ((3, 5),), "sum(%a, axis=[1])"))
    result = np.asarray(build(module, threads=1)(*inputs))
    np.testing.assert_allclose(result, inputs[0].sum(1), rtol=1e-5)
