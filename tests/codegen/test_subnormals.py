"""Results below the smallest normal number become zero, and only while a program runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.codegen.subnormals import subnormals_text
from relay_tune.codegen.target import native_target
from relay_tune.targets.registry import architecture_name

SMALLEST_NORMAL = np.finfo(np.float32).tiny
SQUARES = "def @main(%x: Tensor[(64, 1000), float32]) { multiply(%x, %x) }"
RECURSION = """
def @power(%x: Tensor[(4), float32], %n: int32) -> Tensor[(4), float32] {
  if (equal(%n, 0)) { %x } else { @power(multiply(%x, %x), subtract(%n, 1)) }
}
def @main(%x: Tensor[(4), float32], %n: int32) { @power(%x, %n) }
"""

pytestmark = pytest.mark.skipif(
    architecture_name(native_target().triple) != "x86_64", reason="flushing is for x86-64"
)


@pytest.fixture(autouse=True)
def caller_keeps_its_mode() -> Iterator[None]:
    yield
    assert np.float32(1e-30) * np.float32(1e-10) > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_network_flushes_results(threads: int) -> None:
    x = np.full((64, 1000), 1e-20, np.float32)
    x[::2] = 1e-18
    y = rt.build(rt.parse(SQUARES), threads=threads)(x)
    assert np.all(y[1::2] == 0)
    np.testing.assert_allclose(y[::2], 1e-36, rtol=1e-6)


def test_a_program_flushes_results() -> None:
    model = rt.build(rt.parse(RECURSION))
    x = np.array([1e-20, 1e-18, 1.0, 0.0], np.float32)
    np.testing.assert_allclose(model(x, np.int32(1)), [0, 1e-36, 1, 0], rtol=1e-6)


def test_subnormal_inputs_keep_their_values() -> None:
    model = rt.build(rt.parse("def @main(%x: Tensor[(16), float32]) { log(%x) }"))
    x = np.full(16, 1e-40, np.float32)
    assert x[0] < SMALLEST_NORMAL
    np.testing.assert_allclose(model(x), np.log(x), rtol=1e-6)


def test_softmax_of_scores_far_apart_has_no_subnormal_shares() -> None:
    x = np.linspace(0, 300, 1600, dtype=np.float32).reshape(1, 1600)
    y = rt.build(rt.parse("def @main(%x: Tensor[(1, 1600), float32]) { nn.softmax(%x) }"))(x)
    assert not np.any((y > 0) & (y < SMALLEST_NORMAL))
    np.testing.assert_allclose(y.sum(), 1, rtol=1e-5)


def test_other_processors_are_left_alone() -> None:
    assert "mxcsr" in subnormals_text("x86_64-linux-gnu")
    assert "mxcsr" not in subnormals_text("aarch64-linux-gnu")
