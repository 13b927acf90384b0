from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np

from benchmarks.multiply_add_loop import ITERATIONS
from benchmarks.peak import chain_count, operations, peak_run, peak_text
from relay_tune.codegen.target import native_target, parse_target


def test_loop_multiplies_and_adds_in_every_chain() -> None:
    target = native_target()
    text = peak_text(target)
    assert text.count("= call") == chain_count(target)
    assert operations(target) == 2 * ITERATIONS * target.lanes("float32") * chain_count(target)


def test_loop_is_valid_for_narrow_vectors_too() -> None:
    target = parse_target("x86_64-linux-gnu:haswell")
    llvm.parse_assembly(peak_text(target)).verify()
    assert "<8 x float>" in peak_text(target)


def test_loop_gives_the_fixed_point_of_its_recurrence() -> None:
    run = peak_run(2)
    run()
    target = native_target()
    vectors = run.args[1]
    sums = vectors[:, 32 : 32 + target.lanes("float32")]
    # s = x s + x ends at x / (1 - x) = 1/3 for x = 1/4; the chains are added to x.
    np.testing.assert_allclose(sums, 0.25 + chain_count(target) / 3, rtol=1e-5)
