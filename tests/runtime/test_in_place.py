"""Donated inputs that become results element by element."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relay_tune as rt
from relay_tune.building.build import build
from relay_tune.ir.parser.parse import parse
from relay_tune.program.program import InPlaceOutput
from relay_tune.runtime.donation import in_place_inputs
from relay_tune.runtime.model import Model

Array = np.ndarray

STEP = """
def @main(%p: Tensor[SHAPE, float32], %g: Tensor[SHAPE, float32], %m: Tensor[SHAPE, float32],
    %v: Tensor[SHAPE, float32], %rate: float32) {
  let %m1 = %m * 0.9f + %g * 0.1f;
  let %v1 = %v * 0.99f + %g * %g * 0.01f;
  (%p - %rate * %m1 / (sqrt(%v1) + 1e-6f), %m1, %v1)
}
"""
"""Adam without corrections (D. Kingma, J. Ba, ICLR 2015)."""


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(shape, np.float32)


def model_of(text: str, threads: int = 1) -> Model:
    model = build(parse(text), threads=threads)
    assert isinstance(model, Model)
    return model


@pytest.mark.parametrize("shape", [(37, 19), (5,), (300, 257), (3, 1, 7)])
@pytest.mark.parametrize("threads", [1, 2])
def test_parameters_and_moments_are_updated_where_they_are(
    shape: tuple[int, ...], threads: int
) -> None:
    model = model_of(STEP.replace("SHAPE", str(shape)), threads)
    p, g, m, v = (numbers(*shape, seed=n) for n in range(4))
    rate = np.float32(0.1)
    feed = {"p": p, "g": g, "m": m, "v": v, "rate": rate}
    expected = [array.copy() for array in model.run(feed)]
    before = [p.copy(), m.copy(), v.copy()]
    updated = model.run(feed, donate=("p", "m", "v"))
    for result, array, wanted, old in zip(updated, (p, m, v), expected, before, strict=True):
        assert result is array
        np.testing.assert_array_equal(result, wanted)
        assert not np.array_equal(result, old)
    again = model.run(feed, donate=("p", "m", "v"))
    assert [each is given for each, given in zip(again, (p, m, v), strict=True)] == [True] * 3


UNSAFE = {
    "reversed": "reverse(%x, axis=0) + %y",
    "transposed": "transpose(%x) + %y",
    "summed": "%x / sum(%x) + %y",
    "softmax": "nn.softmax(%x + %y)",
    "normalised": "%x - mean(%x, axis=[1], keepdims=True) + %y",
    "product": "nn.dense(%x, %y)",
    "shifted": "concatenate((strided_slice(%x, begin=[1, 0], end=[24, 24]), "
    "strided_slice(%x, begin=[0, 0], end=[1, 24])), axis=0)",
    "returned": "(exp(%x), %x)",
    "read twice": "(exp(%x), %x + %y)",
    "row twice": "%x + strided_slice(%x, begin=[0, 0], end=[1, 24])",
    "several": "nn.dense(%x, %y) + %x",
    "pool": "reshape(nn.max_pool2d(reshape(%x, newshape=[1, 1, 24, 24]), pool_size=[3, 3], "
    "padding=[1, 1]), newshape=[24, 24])",
}


@pytest.mark.parametrize("body", UNSAFE.values(), ids=list(UNSAFE))
def test_results_are_the_same_whatever_is_donated(body: str) -> None:
    """Where another element of the input is read, its array stays as it is."""
    kind = "Tensor[(24, 24), float32]"
    model = model_of(f"def @main(%x: {kind}, %y: {kind}) {{ {body} }}", 2)
    x, y = numbers(24, 24), numbers(24, 24, seed=1)
    expected = [array.copy() for array in model.run({"x": x, "y": y})]
    old = x.copy()
    found = model.run({"x": x, "y": y}, donate=("x",))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not any(one is x for one in found)
    np.testing.assert_array_equal(x, old)


def test_a_residual_is_added_where_it_is() -> None:
    kind = "Tensor[(7, 24), float32]"
    weight = "Tensor[(24, 24), float32]"
    model = model_of(f"def @main(%x: {kind}, %r: {kind}, %w: {weight}) {{ nn.dense(%x, %w) + %r }}")
    x, r, w = numbers(7, 24), numbers(7, 24, seed=1), numbers(24, 24, seed=2)
    (expected,) = model.run({"x": x, "r": r, "w": w})
    (found,) = model.run({"x": x, "r": r, "w": w}, donate=("r", "x"))
    np.testing.assert_array_equal(found, expected)
    assert found is r


PLUS = "def @main(%x: Tensor[(6, 9), float32], %y: Tensor[(6, 9), float32]) { %x * 2f + %y }"


def test_arrays_that_are_not_the_model_s_to_write() -> None:
    model = model_of(PLUS)
    y = numbers(6, 9, seed=1)
    frozen = numbers(6, 9)
    frozen.setflags(write=False)
    apart = numbers(6, 18)[:, ::2]
    shared = numbers(6, 9)
    for x, other in ((frozen, y), (apart, y), (shared, shared)):
        expected = np.asarray(x, np.float32) * 2 + other
        kept = np.array(x)
        (found,) = model.run({"x": x, "y": other}, donate=("x",))
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert found is not x
        np.testing.assert_array_equal(np.array(x), kept)


def test_one_input_is_one_output() -> None:
    kind = "Tensor[(6, 9), float32]"
    model = model_of(f"def @main(%x: {kind}, %y: {kind}) {{ %x + %y }}")
    x, y = numbers(6, 9), numbers(6, 9, seed=1)
    expected, old = x + y, y.copy()
    (found,) = model.run({"x": x, "y": y}, donate=("x", "y"))
    assert found is x
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(y, old)


MAIN = """
#include <stdio.h>
#include "step.h"
int main(void) {
  float x[54], y[54];
  for (int i = 0; i < 54; ++i) { x[i] = i; y[i] = 1; }
  const void* inputs[] = {x, y};
  void* outputs[] = {x};
  for (int n = 0; n < 2; ++n) { int code = step_run(inputs, outputs, 2); if (code) return code; }
  for (int i = 0; i < 54; ++i) if (x[i] != 4.0f * i + 3.0f) return 1;
  return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_libraries_write_in_place(tmp_path: Path) -> None:
    model_of(PLUS).export(tmp_path / "step.so")
    header = (tmp_path / "step.h").read_text()
    assert "output 0 (output) at the address of input 0 (x)" in header
    loaded = rt.load(tmp_path / "step.so")
    x, y = numbers(6, 9), numbers(6, 9, seed=1)
    expected = x * 2 + y
    (found,) = loaded.run({"x": x, "y": y}, donate=("x",))
    assert found is x
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    (tmp_path / "main.c").write_text(MAIN)
    program = tmp_path / "main"
    command = ["cc", "main.c", "step.so", "-o", "main", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([program], check=False).returncode == 0


@given(spans=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), max_size=6))
def test_only_arrays_that_lie_apart_from_all_others_are_written(
    spans: list[tuple[int, int]],
) -> None:
    memory = np.zeros(12, np.float32)
    arrays = [memory[start : start + size] for start, size in spans]
    values = {str(number): array for number, array in enumerate(arrays)}
    pairs = [InPlaceOutput(number, number) for number in range(len(arrays))]
    addresses = [array.ctypes.data for array in arrays]
    found = in_place_inputs(pairs, values, arrays, addresses, dict.fromkeys(values, 0))
    wanted = [
        number
        for number, array in enumerate(arrays)
        if not any(np.may_share_memory(array, other) for other in arrays if other is not array)
    ]
    assert list(found) == wanted
