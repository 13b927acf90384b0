"""Kernels compute cheap functions of each element again where that is estimated to cost less."""

from typing import Any

import pytest

from relay_tune.errors import InputError
from relay_tune.ir.module import Module
from relay_tune.transform.fusion.fuse import Fuse
from relay_tune.transform.fusion.recompute_elementwise import RecomputeElementwise
from tests.schedule.machines import core
from tests.transform.fusion.test_fuse import kernels

RECOMPUTE = RecomputeElementwise(core(32, 16))

X = "%x: Tensor[(256, 512), float32]"
Y = "%y: Tensor[(256, 512), float32]"
W = "%w: Tensor[(512, 8), float32]"

SCALED = "multiply(%x, 0.7f)"

TWO_READERS = """
    %0 = {value};
    %1 = erf(%0);
    (nn.matmul(%1, %w), %1, multiply(exp(%0), %y))
"""
"""A value that two kernels read, neither of which can be joined by the other."""


def recomputed(module: Module) -> Module:
    return RECOMPUTE(Fuse()(module))


def test_each_reader_computes_a_cheap_value(typed: Any, assert_same_meaning: Any) -> None:
    before = typed(f"({X}, {Y}, {W}) {{ {TWO_READERS.format(value=SCALED)} }}")
    assert kernels(Fuse()(before))[0] == ["multiply"]
    after = recomputed(before)
    assert kernels(after) == [
        ["multiply", "erf"],
        ["nn.matmul"],
        ["multiply", "exp", "multiply"],
    ]
    assert_same_meaning(before, after)


def test_values_of_values_are_computed_again(typed: Any, assert_same_meaning: Any) -> None:
    text = "%2 = multiply(%x, 0.7f); %3 = erf(%2); %4 = add(%2, 1f);"
    results = "(nn.matmul(%3, %w), %3, multiply(exp(%4), %y), erf(multiply(%4, %4)))"
    before = typed(f"({X}, {Y}, {W}) {{ {text} {results} }}")
    after = recomputed(before)
    assert kernels(after) == [
        ["multiply", "erf"],
        ["nn.matmul"],
        ["multiply", "add", "exp", "multiply"],
        ["multiply", "add", "multiply", "erf"],
    ]
    assert_same_meaning(before, after)


def test_a_dear_value_is_computed_once(typed: Any) -> None:
    text = TWO_READERS.format(value="sinh(tan(erf(atan(%x))))")
    fused = Fuse()(typed(f"({X}, {Y}, {W}) {{ {text} }}"))
    assert RECOMPUTE(fused) is fused


def test_a_sum_is_computed_once(typed: Any) -> None:
    text = TWO_READERS.format(value="softmax(%x)").replace("softmax", "nn.softmax")
    fused = Fuse()(typed(f"({X}, {Y}, {W}) {{ {text} }}"))
    assert RECOMPUTE(fused) is fused


def test_arguments_are_not_kept_for_it(typed: Any) -> None:
    both = TWO_READERS.format(value="add(%2, %3)")
    text = f"%2 = cumsum(%x, axis=1); %3 = cumsum(%y, axis=1); {both}"
    fused = Fuse()(typed(f"({X}, {Y}, {W}) {{ {text} }}"))
    assert RECOMPUTE(fused) is fused


def test_what_leaves_the_program_is_computed_once(typed: Any) -> None:
    fused = Fuse()(typed(f"({X}) {{ %0 = {SCALED}; (%0, erf(%0), tanh(%0)) }}"))
    assert RECOMPUTE(fused) is fused


def test_a_reader_that_is_no_elementwise_kernel_keeps_the_value(typed: Any) -> None:
    text = f"({X}, {W}) {{ %0 = {SCALED}; (nn.matmul(%0, %w), erf(%0)) }}"
    fused = Fuse()(typed(text))
    assert RECOMPUTE(fused) is fused


def test_sizes_that_only_a_run_tells_are_left_alone(typed: Any) -> None:
    text = f"({X}, {Y}, {W}) {{ {TWO_READERS.format(value=SCALED)} }}".replace("256", "?")
    fused = Fuse()(typed(text))
    assert RECOMPUTE(fused) is fused


def test_a_kernel_has_a_call() -> None:
    with pytest.raises(InputError, match="maximum_group_size"):
        RecomputeElementwise(core(32, 16), maximum_group_size=0)
