"""Products of quantized integers, bit for bit: cases of the campaign."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fuzz_integers import integer_case, wrong_elements
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.compute_in_integers import ComputeInIntegers
from relay_tune.typing.infer import infer_types


@pytest.mark.parametrize("seed", range(4))
def test_a_built_case_is_equal_to_int64_arithmetic(seed: int) -> None:
    assert wrong_elements(integer_case(seed)) == 0


@pytest.mark.parametrize("seed", range(4))
def test_small_weights_are_multiplied_exactly_as_bytes(seed: int) -> None:
    assert wrong_elements(integer_case(seed, most=64), target="x86_64-linux-gnu:haswell") == 0


@pytest.mark.parametrize("integers", ["always", "never"])
def test_programs_are_equal_to_int64_arithmetic(integers: str) -> None:
    for seed in range(100, 140):
        case = integer_case(seed)
        module = ComputeInIntegers(integers)(infer_types(from_onnx(case.model)))
        found = interpret(module, *case.feeds.values())
        np.testing.assert_array_equal(found, case.expected, err_msg=f"seed {seed}: {case.name}")


def test_wrong_elements_are_counted() -> None:
    case = integer_case(0)
    case.expected.flat[:3] += 1
    assert wrong_elements(case) == min(3, case.expected.size)
