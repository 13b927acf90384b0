"""Derivatives of random programs: both modes and orders, differences, and each pass afterwards.
benchmarks/fuzz_gradients.py does more of them, in native code as well."""

import pytest

from benchmarks.fuzzing.program_gradients import failures


@pytest.mark.parametrize("seed", range(8))
def test_modes_and_differences_agree(seed):
    assert failures(seed, native=False) == []


def test_native_code_gives_what_the_interpreter_gives():
    assert failures(28, native=True) == []
