"""Dot products of words compute the same as sums in int64, at the ends of ranges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relay_tune.codegen.target import native_target, parse_target
from relay_tune.machine.pattern import (
    INTEGER_PATTERNS,
    PAIRS,
    SIGNED_BYTES,
    UNSIGNED_BY_SIGNED,
    UNSIGNED_BYTES,
    WordPattern,
)
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.dot_products.match import match_dot_products
from relay_tune.schedule.rewrites.dot_products.record import BF16, DOT_PRODUCTS
from relay_tune.schedule.rewrites.dot_products.stages import has_dot_products, word_program
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.program import TensorProgram
from tests.schedule import products
from tests.schedule.integer_products import PROGRAMS, convolution, dense, depthwise, feeds_of
from tests.schedule.machines import with_registers
from tests.schedule.running import run_schedule

CASES = [(name, pattern) for name in PROGRAMS for pattern in INTEGER_PATTERNS]


@pytest.mark.parametrize(("name", "pattern"), CASES, ids=lambda each: getattr(each, "name", each))
def test_they_are_the_same_sums(name: str, pattern: WordPattern) -> None:
    program = PROGRAMS[name]()
    feeds = feeds_of(program)
    if not has_dot_products(program, pattern):
        assert pattern is not PAIRS
        return
    words = word_program(program, pattern)
    assert words is not None
    known = {**{t: feeds[t] for t in words.inputs}, **words.constant_arrays()}
    (found,), (expected,) = evaluate(words.outputs, known), evaluate(program.outputs, feeds)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_their_code_computes_them(name: str) -> None:
    """With the instructions of this machine, or with shifts and products."""
    program, target = PROGRAMS[name](), native_target()
    plan, feeds = plan_program(program), feeds_of(program)
    every = tuple(each.name for each in INTEGER_PATTERNS)
    machine = replace(with_registers(machine_of(target), 8), dot_products=every)
    (expected,) = evaluate(program.outputs, feeds)
    for algorithm in plan.algorithms_on(machine)[1:]:
        own = plan.with_algorithm(algorithm)
        schedule = own.default_under_algorithm(machine, 2)[1]
        (found,) = run_schedule(own, schedule, target, feeds)
        np.testing.assert_array_equal(found, expected, err_msg=str(algorithm))


def test_which_operands_there_are_words_of() -> None:
    def offsets(pattern: WordPattern, data: str, weights: str) -> tuple[int, int] | None:
        stage = dense(data=data, weights=weights).outputs[0]
        found = match_dot_products(stage, pattern)
        return None if found is None else (found.left.offset, found.right.offset)

    assert offsets(UNSIGNED_BY_SIGNED, "uint8", "int8") == (0, 0)
    assert offsets(UNSIGNED_BY_SIGNED, "int8", "int8") == (128, 0)
    assert offsets(UNSIGNED_BY_SIGNED, "int8", "uint8") == (0, 0)  # the weights stand left
    assert offsets(SIGNED_BYTES, "uint8", "int8") == (-128, 0)
    assert offsets(SIGNED_BYTES, "uint8", "uint8") is None
    assert offsets(UNSIGNED_BYTES, "uint8", "uint8") == (0, 0)
    assert offsets(PAIRS, "int16", "uint8") == (0, 0)
    assert offsets(PAIRS, "uint16", "int8") is offsets(PAIRS, "int32", "int8") is None


@pytest.mark.parametrize(
    ("program", "copies"),
    [
        (dense(data="int8", steps=24), 0),
        (dense(data="int8", steps=23), 1),  # not in whole words
        (dense(data="int8", steps=24, columns=200), 1),  # several tiles read each word
        (convolution(8, data="int8"), 1),  # so do the positions of a window
        (dense(data="int8", steps=24, weights="uint8"), 0),
    ],
)
def test_words_of_another_sign_are_copied_where_they_are_read_again(
    program: TensorProgram, copies: int
) -> None:
    (algorithm,) = (each for each in DOT_PRODUCTS if each.name == UNSIGNED_BY_SIGNED.name)
    nests = plan_program(program).with_algorithm(algorithm()).nests
    assert len({nest.target.viewed for nest in nests}) == copies + 1


def test_along_which_axis_words_lie() -> None:
    def steps(program: TensorProgram, pattern: WordPattern) -> tuple[str, int]:
        found = match_dot_products(program.outputs[0], pattern)
        assert found is not None
        return found.axis.name, found.steps

    assert steps(convolution(8), UNSIGNED_BY_SIGNED) == ("c", 18)
    assert steps(convolution(3, groups=2), UNSIGNED_BY_SIGNED)[0] != "c"
    assert steps(depthwise(), PAIRS) == ("kh", 6)


def test_no_other_sums_become_words() -> None:
    others = [make() for make in products.PRODUCTS.values()]
    others += [products.halves(), products.largest(), products.differences()]
    for program in others:
        assert not any(has_dot_products(program, pattern) for pattern in INTEGER_PATTERNS)


@pytest.mark.parametrize(
    ("name", "patterns"),
    [
        ("x86_64-linux-gnu", ["dot_s16s16"]),
        ("x86_64-linux-gnu:haswell", ["dot_s16s16", "dot_u8s8_bounded"]),
        ("x86_64-linux-gnu:skylake-avx512", ["dot_s16s16", "dot_u8s8_bounded"]),
        ("x86_64-linux-gnu:cascadelake", ["dot_u8s8", "dot_s16s16"]),
        ("x86_64-linux-gnu:cooperlake", ["dot_b16b16", "dot_u8s8", "dot_s16s16"]),
        ("x86_64-linux-gnu:alderlake", ["dot_u8s8", "dot_s16s16"]),
        ("aarch64-linux-gnu:cortex-a72", []),
        ("aarch64-linux-gnu:neoverse-n1", ["dot_s8s8", "dot_u8u8"]),
        ("aarch64-linux-gnu:neoverse-v1", ["dot_s8s8", "dot_u8u8", "dot_u8s8", "dot_b16b16"]),
        ("riscv64-linux-gnu", []),
    ],
)
def test_machines_run_what_they_have(name: str, patterns: list[str]) -> None:
    machine = machine_of(parse_target(name))
    assert list(machine.dot_products) == patterns
    able = {each.name for each in DOT_PRODUCTS if each.needs(machine)} - {"bf16"}
    assert able == set(patterns)
    assert BF16.needs(machine) == ("dot_b16b16" in patterns)
    fewest = plan_program(dense(128, 512, 256)).default_schedule(machine, 1)
    assert bool(fewest.algorithm.rewrites) == bool(patterns)
