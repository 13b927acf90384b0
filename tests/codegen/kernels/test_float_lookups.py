"""Short integers to floats by a lookup: what they are, and by which instruction."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.target import parse_target
from relay_tune.tensor.expression import binary, cast
from relay_tune.tensor.loops import Kernel, Statement
from tests.codegen.kernels.elementwise import elementwise
from tests.codegen.running import TARGETS, argument, run_native

COUNT = 37
WORDS, OUT = argument("words", COUNT, "int32"), argument("out", COUNT)
NUMBERS = np.random.default_rng(2).integers(-(2**31), 2**31, COUNT).astype(np.int32)


def numbers(first: int, bits: int, lanes: int) -> Statement:
    """out[i] = the number of so many bits that begins at bit `first` of words[i]"""

    def element(i):
        up = binary("shl", WORDS[i], 32 - bits - first)
        return cast(binary("shr", up, 32 - bits), "float32")

    return elementwise(OUT, lanes, COUNT, element)


@pytest.mark.parametrize("bits", [2, 3, 4, 5])
@pytest.mark.parametrize("first", [0, 4, 20, 27])
@pytest.mark.parametrize("lanes", [0, 8, 16])
def test_numbers_have_signs(bits: int, first: int, lanes: int) -> None:
    bits = min(bits, 32 - first)
    for target in TARGETS:
        arrays = {WORDS: NUMBERS, OUT: np.zeros(COUNT, np.float32)}
        found = run_native(numbers(first, bits, lanes), arrays, target)[OUT]
        np.testing.assert_array_equal(found, (NUMBERS << (32 - bits - first)) >> (32 - bits))


@pytest.mark.parametrize(
    ("cpu", "lanes", "bits", "is_looked_up"),
    [
        ("skylake-avx512", 16, 4, True),
        ("skylake-avx512", 16, 5, False),
        ("haswell", 8, 2, True),
        ("haswell", 8, 4, False),
        ("x86-64", 4, 2, False),
    ],
)
def test_the_instruction(cpu: str, lanes: int, bits: int, is_looked_up: bool) -> None:
    target, buffers = parse_target(f"x86_64-linux-gnu:{cpu}"), (WORDS, OUT)
    text = module_text([Kernel("numbers", buffers, buffers, numbers(8, bits, lanes))], target)
    assert ("permvar" in text or "permps" in text) == is_looked_up
