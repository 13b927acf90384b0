"""Dot products of words as code: what they compute, and by which instruction."""

from __future__ import annotations

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np
import pytest

from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.llvm_modules import initialize_llvm, parsed_module
from relay_tune.codegen.target import Target, parse_target
from relay_tune.machine.pattern import BFLOAT16_WORDS, INTEGER_PATTERNS, WORD_PATTERNS, WordPattern
from relay_tune.tensor.expression import binary
from relay_tune.tensor.loops import Buffer, Kernel, Statement
from tests.codegen.kernels.elementwise import elementwise
from tests.codegen.running import TARGETS, argument, run_native

COUNT = 37
X, W, Y, OUT = (argument(name, COUNT, "int32") for name in ("x", "w", "y", "out"))
YF, OUTF = (argument(name, COUNT, "float32") for name in ("y", "out"))


def buffers_of(pattern: WordPattern) -> tuple[Buffer, ...]:
    """Left and right words, what the product is added to, and the sum."""
    return (X, W, Y, OUT) if pattern.result == "int32" else (X, W, YF, OUTF)


def sums(pattern: WordPattern, lanes: int, *, adds: bool = True) -> Statement:
    """out[i] = y[i] + dot(x[i], w[i])"""
    x, w, y, out = buffers_of(pattern)

    def element(i):
        product = binary(pattern.name, x[i], w[i])
        return y[i] + product if adds else product

    return elementwise(out, lanes, COUNT, element)


def dots(pattern: WordPattern, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The same by numpy's views of the words."""
    x, w = left.view(pattern.left), right.view(pattern.right)
    products = x.astype(np.int64) * w.astype(np.int64)
    return products.reshape(-1, pattern.group).sum(axis=1)


def words(dtype: str, seed: int) -> np.ndarray:
    info, rng = np.iinfo(dtype), np.random.default_rng(seed)
    ends = np.array([info.min, info.max, 0, 1], dtype)
    return rng.choice(ends, 4 * COUNT // info.dtype.itemsize).view(np.int32)


def right_words(pattern: WordPattern) -> np.ndarray:
    """Right words of elements at the ends of what a pattern allows."""
    most = pattern.most_pair
    if not most:
        return words(pattern.right, 2)
    ends = [(most // 2, most // 2), (most - 1, 1), (-most, 0), (-most, most - 1), (-1, 1 - most)]
    pairs = np.random.default_rng(2).choice(np.array(ends, pattern.right), 2 * COUNT)
    return pairs.reshape(-1).view(np.int32)


@pytest.mark.parametrize("pattern", INTEGER_PATTERNS, ids=lambda each: each.name)
@pytest.mark.parametrize("lanes", [0, 2, 8, 16])
def test_they_wrap_around_and_saturate_nowhere(pattern: WordPattern, lanes: int) -> None:
    x, w = words(pattern.left, 1), right_words(pattern)
    y = np.random.default_rng(3).integers(-(2**31), 2**31, COUNT).astype(np.int32)
    for adds in (True, False):
        expected = (dots(pattern, x, w) + y * adds).astype(np.int32)
        for target in TARGETS:
            arrays = {X: x, W: w, Y: y, OUT: np.zeros_like(y)}
            found = run_native(sums(pattern, lanes, adds=adds), arrays, target)[OUT]
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("lanes", [0, 2, 8, 16])
def test_bfloat16_is_summed_in_float32(lanes: int) -> None:
    """Products are exact; sums of three are rounded, by one instruction or by several."""
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=2 * COUNT).astype(ml_dtypes.bfloat16) for _ in range(2))
    y = rng.normal(size=COUNT).astype(np.float32)
    products = (x.astype(np.float64) * w.astype(np.float64)).reshape(COUNT, 2)
    for adds in (True, False):
        expected = products.sum(axis=1) + y * adds
        bound = 2.0**-22 * (np.abs(products).sum(axis=1) + np.abs(y))
        for target in TARGETS:
            found = _bfloat_sums(x, w, y, target, lanes, adds=adds)
            assert np.all(np.abs(found - expected) <= bound)


def test_infinities_and_nan_pass() -> None:
    one, inf, nan = 1.0, np.inf, np.nan
    pairs = [(inf, one), (one, -inf), (nan, one), (one, nan), (inf, -inf), (inf, inf)]
    x = np.ones((COUNT, 2), ml_dtypes.bfloat16)
    x[: len(pairs)] = pairs
    w, y = np.ones_like(x), np.zeros(COUNT, np.float32)
    with np.errstate(invalid="ignore"):
        expected = x.astype(np.float32).sum(axis=1)
    for target in TARGETS:
        for left, right in ((x, w), (w, x)):
            found = _bfloat_sums(left, right, y, target, 16)
            np.testing.assert_array_equal(found, expected)


def _bfloat_sums(
    x: np.ndarray,
    w: np.ndarray,
    y: np.ndarray,
    target: Target,
    lanes: int,
    *,
    adds: bool = True,
) -> np.ndarray:
    words = {X: x.view(np.int32).reshape(COUNT), W: w.view(np.int32).reshape(COUNT)}
    arrays = {**words, YF: y, OUTF: np.zeros_like(y)}
    return run_native(sums(BFLOAT16_WORDS, lanes, adds=adds), arrays, target)[OUTF]


@pytest.mark.parametrize(
    ("name", "lanes", "operation", "instruction"),
    [
        ("x86_64-linux-gnu", 4, "dot_s16s16", "pmaddwd"),
        ("x86_64-linux-gnu:haswell", 8, "dot_s16s16", "vpmaddwd"),
        ("x86_64-linux-gnu:skylake-avx512", 16, "dot_s16s16", "vpmaddwd"),
        ("x86_64-linux-gnu:nehalem", 4, "dot_u8s8_bounded", "pmaddubsw"),
        ("x86_64-linux-gnu:haswell", 8, "dot_u8s8_bounded", "vpmaddubsw"),
        ("x86_64-linux-gnu:skylake-avx512", 16, "dot_u8s8_bounded", "vpmaddubsw"),
        ("x86_64-linux-gnu:cascadelake", 16, "dot_s16s16", "vpdpwssd"),
        ("x86_64-linux-gnu:cascadelake", 16, "dot_u8s8", "vpdpbusd"),
        ("x86_64-linux-gnu:sapphirerapids", 8, "dot_u8s8", "vpdpbusd"),
        ("x86_64-linux-gnu:alderlake", 8, "dot_u8s8", "vpdpbusd"),
        ("x86_64-linux-gnu:cooperlake", 16, "dot_b16b16", "vdpbf16ps"),
        ("x86_64-linux-gnu:sapphirerapids", 8, "dot_b16b16", "vdpbf16ps"),
        ("aarch64-linux-gnu:neoverse-n1", 4, "dot_s8s8", "sdot"),
        ("aarch64-linux-gnu:neoverse-n1", 4, "dot_u8u8", "udot"),
        ("aarch64-linux-gnu:neoverse-v1", 4, "dot_u8s8", "usdot"),
        ("aarch64-linux-gnu:neoverse-v1", 4, "dot_b16b16", "bfdot"),
        ("aarch64-linux-gnu:neoverse-v1", 8, "dot_b16b16", "bfdot"),
    ],
)
def test_the_instruction(name: str, lanes: int, operation: str, instruction: str) -> None:
    (pattern,) = (each for each in WORD_PATTERNS if each.name == operation)
    target, buffers = parse_target(name), buffers_of(pattern)
    text = module_text([Kernel("dots", buffers, buffers, sums(pattern, lanes))], target)
    initialize_llvm()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(target.cpu, opt=1)
    with parsed_module(text) as module:
        assert f"\t{instruction}\t" in machine.emit_assembly(module).replace("{vex}\t", "")
