"""The vectors of processors, compared with the features that LLVM knows them to have."""

from __future__ import annotations

import pytest

from relay_tune.codegen.implied_features import implied_features
from relay_tune.machine.architecture import Vectors
from relay_tune.targets.x86.processors import vectors_of

ASKED = ("avx2", "avx512f", "avx512vl", "avx512dq", "avx512bf16")

CPUS = """
nehalem sandybridge haswell skylake alderlake meteorlake gracemont sierraforest znver1 znver3
skylake-avx512 cooperlake icelake-server rocketlake tigerlake sapphirerapids graniterapids znver4
x86-64 x86-64-v3 x86-64-v4
""".split()


@pytest.mark.parametrize("features", ["", "-avx512f", "-avx512bf16", "-avx2"])
@pytest.mark.parametrize("cpu", CPUS)
def test_vectors_are_those_that_llvm_knows(cpu: str, features: str) -> None:
    has = implied_features("x86_64-linux-gnu", cpu, features, ASKED)
    is_wide = {"avx512f", "avx512vl"} <= has
    bits = 512 if is_wide else 256 if "avx2" in has else 128
    found = vectors_of(cpu, features)
    assert found == Vectors(
        bits,
        32 if is_wide else 16,
        is_wide and "avx512dq" in has,
        is_wide and "avx512bf16" in has,
    )
