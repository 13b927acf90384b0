"""Which axis counts samples, read from computations."""

from __future__ import annotations

import pytest

import relay_tune as rt
from relay_tune.ir.expr import Function
from relay_tune.training.sample_axes import Samples, Spread, Total, call_spread
from relay_tune.training.sample_numbers import CoupledError

S = Samples


def _function(text: str) -> Function:
    return rt.infer_types(rt.parse(f"def @main({text}")).main


FOUND: dict[str, tuple[str, tuple[Spread, ...], tuple[Spread, ...]]] = {
    "rows": (
        "%x: Tensor[(6, 4), float32], %w: Tensor[(3, 4), float32]) { nn.dense(%x, %w) }",
        (S(0), None),
        (S(0),),
    ),
    "folded": (
        "%x: Tensor[(6, 8, 4), float32]) { reshape(%x, newshape=(48, 4)) }",
        (S(0),),
        (S(0, 8),),
    ),
    "unfolded": (
        "%x: Tensor[(48, 4), float32]) { reshape(%x, newshape=(12, 4, 4)) }",
        (S(0, 8),),
        (S(0, 2),),
    ),
    "images folded into pixels": (
        "%x: Tensor[(6, 4, 8, 3), float32]) { reshape(%x, newshape=(192, 3)) }",
        (S(0),),
        (S(0, 32),),
    ),
    "pixels unfolded into images": (
        "%x: Tensor[(192, 3), float32]) { reshape(%x, newshape=(6, 4, 8, 3)) }",
        (S(0, 32),),
        (S(0),),
    ),
    "in each step": (
        "%x: Tensor[(5, 6, 4), float32]) { reshape(%x, newshape=(30, 4)) }",
        (S(1),),
        (S(0),),
    ),
    "in each step again": (
        "%x: Tensor[(30, 8), float32]) { reshape(%x, newshape=(5, 12, 4)) }",
        (S(0),),
        (S(1, 2),),
    ),
    "one step behind the other": (
        "%x: Tensor[(12, 4), float32], %y: Tensor[(6, 4), float32]) { concatenate((%x, %y)) }",
        (S(0), S(0)),
        (S(0),),
    ),
    "heads": (
        "%x: Tensor[(6, 8, 4), float32]) { transpose(%x, axes=(1, 0, 2)) }",
        (S(0),),
        (S(1),),
    ),
    "each of a tuple": (
        "%x: Tensor[(4, 6), float32]) { split(%x, indices_or_sections=2, axis=0) }",
        (S(1),),
        (S(1), S(1)),
    ),
    "rows that are looked up": (
        "%w: Tensor[(9, 4), float32], %i: Tensor[(6, 5), int64]) { take(%w, %i, axis=0) }",
        (None, S(0)),
        (S(0),),
    ),
    "a sum": (
        "%x: Tensor[(6, 4), float32]) { sum(%x, axis=(0,)) }",
        (S(0),),
        (Total.SUM,),
    ),
    "a multiple of a mean": (
        "%m: float32, %k: float32) { multiply(%k, %m) }",
        (Total.MEAN, None),
        (Total.MEAN,),
    ),
    "nothing": ("%x: Tensor[(6, 4), float32]) { exp(%x) }", (None,), (None,)),
}


@pytest.mark.parametrize("name", FOUND)
def test_the_axis_is_found(name: str) -> None:
    text, given, expected = FOUND[name]
    assert call_spread(_function(text), given, 6).results == expected


def test_what_is_read_along_samples_is_noted() -> None:
    text = "%x: Tensor[(6, 4), float32], %h: Tensor[(6, 1), float32]) { add(%x, %h) }"
    assert call_spread(_function(text), (S(0), None), 6).along == (None, S(0))


MEETING: dict[str, tuple[str, tuple[Spread, ...]]] = {
    "a maximum": ("%x: Tensor[(6, 4), float32]) { max(%x, axis=(0,)) }", (S(0),)),
    "the others": ("%x: Tensor[(6, 4), float32]) { nn.softmax(%x, axis=0) }", (S(0),)),
    "two orders": (
        "%x: Tensor[(6, 6), float32], %y: Tensor[(6, 6), float32]) { add(%x, %y) }",
        (S(0), S(1)),
    ),
    "some only": (
        "%x: Tensor[(6, 4), float32]) { strided_slice(%x, begin=(1,), end=(6,), axes=(0,)) }",
        (S(0),),
    ),
    "another order": ("%x: Tensor[(6, 4), float32]) { reverse(%x, axis=0) }", (S(0),)),
    "two rows of a sample that are no neighbours of one axis": (
        "%x: Tensor[(6, 4, 8, 3), float32]) { reshape(%x, newshape=(2, 6, 48)) }",
        (S(0),),
    ),
    "steps that a sample lies across": (
        "%x: Tensor[(30, 4), float32]) { reshape(%x, newshape=(6, 5, 4)) }",
        (S(0),),
    ),
    "a sorted column": ("%x: Tensor[(6, 4), float32]) { sort(%x, axis=0) }", (S(0),)),
    "a square of a sum": ("%x: float32) { multiply(%x, %x) }", (Total.SUM,)),
    "a sum and a number": ("%x: float32) { add(%x, 1f) }", (Total.SUM,)),
    "a sum and a mean": ("%x: float32, %y: float32) { add(%x, %y) }", (Total.SUM, Total.MEAN)),
    "a mean of all beside each": (
        "%x: Tensor[(6, 4), float32], %m: float32) { subtract(%x, %m) }",
        (S(0), Total.MEAN),
    ),
}


@pytest.mark.parametrize("name", MEETING)
def test_samples_that_meet_are_seen(name: str) -> None:
    text, given = MEETING[name]
    with pytest.raises(CoupledError):
        call_spread(_function(text), given, 6)


def test_a_division_by_the_number_of_samples_is_a_mean() -> None:
    whole, part = (
        _function(f"%x: Tensor[({size}, 4), float32]) {{ mean(%x) }}") for size in (6, 2)
    )
    found = call_spread(whole, (S(0),), 6)
    assert found.results == (Total.SUM,)
    assert found.beside(part, 3) == (Total.MEAN,)


def test_other_numbers_that_depend_on_samples_are_seen() -> None:
    whole, part = (_function(f"%m: float32) {{ multiply(%m, {n}f) }}") for n in (2, 3))
    with pytest.raises(CoupledError):
        call_spread(whole, (Total.MEAN,), 6).beside(part, 3)
