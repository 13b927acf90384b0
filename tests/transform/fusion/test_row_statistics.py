"""Normalisations in primitive operators share a kernel."""

from typing import Any

import pytest

from relay_tune.transform.fusion.fuse import Fuse
from tests.transform.fusion.test_fuse import kernels

A = "%a: Tensor[(6, 40), float32]"
MEAN = "mean({}, axis=[-1], keepdims=True)"
LAYER_NORM = f"""%0 = {MEAN.format("%a")};
    %1 = subtract(%a, %0);
    %2 = {MEAN.format("multiply(%1, %1)")};
    %3 = divide(%1, sqrt(add(%2, 0.001f)));
    add(multiply(%3, %g), %b)"""
SOFTMAX = """%0 = exp(subtract(%a, max(%a, axis=[1], keepdims=True)));
    divide(%0, sum(%0, axis=[1], keepdims=True))"""
ROOT_MEAN_SQUARE = f"""%0 = rsqrt(add({MEAN.format("multiply(%a, %a)")}, 0.001f));
    multiply(multiply(%a, %0), %g)"""
UNIT_LENGTH = "divide(%a, sqrt(sum(multiply(%a, %a), axis=[1], keepdims=True)))"


@pytest.mark.parametrize("body", [LAYER_NORM, SOFTMAX, ROOT_MEAN_SQUARE, UNIT_LENGTH])
def test_a_normalisation_in_primitive_operators_is_one_kernel(
    typed: Any, assert_same_meaning: Any, body: str
) -> None:
    vectors = "%g: Tensor[(40,), float32], %b: Tensor[(40,), float32]"
    before = typed(f"({A}, {vectors}) {{ {body} }}", "g", "b")
    after = Fuse()(before)
    assert len(kernels(after)) == 1
    assert_same_meaning(before, after)


def test_a_sum_in_front_of_a_normalisation_joins_it(typed: Any, assert_same_meaning: Any) -> None:
    body = SOFTMAX.replace("%a", "%7")
    before = typed(f"({A}, %r: Tensor[(6, 40), float32]) {{ %7 = add(%a, %r); {body} }}")
    after = Fuse()(before)
    assert len(kernels(after)) == 1
    assert_same_meaning(before, after)


def test_planes_of_an_image_are_rows_too(typed: Any) -> None:
    image = "%x: Tensor[(1, 3, 8, 8), float32]"
    text = f"({image}) {{ subtract(%x, mean(%x, axis=[2, 3], keepdims=True)) }}"
    assert kernels(Fuse()(typed(text))) == [["mean", "subtract"]]


@pytest.mark.parametrize(
    "reduced",
    [
        "mean(%a, axis=[0], keepdims=True)",  # along columns
        "broadcast_to(mean(%a, axis=[1]), shape=[40, 6])",  # of other rows
    ],
)
def test_other_reductions_keep_their_kernel(typed: Any, reduced: str) -> None:
    shape = "(40, 6)" if "broadcast" in reduced else "(6, 40)"
    text = f"({A}, %c: Tensor[{shape}, float32]) {{ subtract(%c, {reduced}) }}"
    assert len(kernels(Fuse()(typed(text)))) == 2


def test_rows_of_different_lengths_stay_apart(typed: Any) -> None:
    text = f"""({A}, %c: Tensor[(6, 30), float32]) {{
        %0 = {MEAN.format("%a")};
        add(divide(%c, {MEAN.format("%c")}), %0) }}"""
    assert len(kernels(Fuse()(typed(text)))) == 2


def test_a_product_in_front_keeps_its_kernel(typed: Any) -> None:
    body = SOFTMAX.replace("%a", "%7")
    text = f"({A}, %w: Tensor[(40, 40), float32]) {{ %7 = nn.dense(%a, %w); {body} }}"
    found = kernels(Fuse()(typed(text, "w")))
    assert [kernel[0] for kernel in found] == ["nn.dense", "max"]


def test_a_mean_that_others_read_leaves_its_kernel(typed: Any, assert_same_meaning: Any) -> None:
    text = f"({A}) {{ %0 = {MEAN.format('%a')}; (subtract(%a, %0), %0) }}"
    before = typed(text)
    after = Fuse()(before)
    assert kernels(after) == [["mean"], ["subtract"]]
    assert_same_meaning(before, after)
