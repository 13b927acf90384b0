import gc
import weakref
from contextlib import nullcontext

import pytest

from relay_tune.building import primitives
from relay_tune.building.build import build
from relay_tune.ir.parser.parse import parse
from relay_tune.remembered import (
    RARE_COLLECTIONS,
    code_for_one_round,
    primitive_is_written,
    remembered,
    results_for_one_build,
)
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.walk import sub_expressions

pytestmark = pytest.mark.builds_apart


class Thing:
    """Something that a weak reference can mean."""


def test_results_are_kept_for_one_build() -> None:
    calls = []

    @remembered(10)
    def double(x: int) -> int:
        calls.append(x)
        return 2 * x

    with results_for_one_build():
        assert [double(2), double(2)] == [4, 4] and calls == [2]
    assert double(2) == 4 and calls == [2, 2]
    with pytest.raises(KeyError), results_for_one_build():
        raise KeyError
    double(2)
    assert calls == [2, 2, 2]


def test_code_is_kept_for_one_round() -> None:
    calls = []

    @remembered(10)
    def estimate(x: int) -> int:
        calls.append(f"estimate {x}")
        return x

    @remembered(10, is_code=True)
    def text(x: int) -> str:
        calls.append(f"text {x}")
        return str(x)

    with results_for_one_build():
        for _ in range(2):
            with code_for_one_round():
                assert (estimate(1), text(1), text(1)) == (1, "1", "1")
        assert calls == ["estimate 1", "text 1", "text 1"]
        text(2)
    assert text(2) == "2" and calls[-2:] == ["text 2", "text 2"]


@pytest.mark.parametrize("in_turn", [False, True])
def test_what_was_found_for_a_primitive_goes_where_builds_are_not_in_turn(in_turn: bool) -> None:
    calls = []

    @remembered(10)
    def estimate(x: int) -> int:
        calls.append(f"estimate {x}")
        return x

    @remembered(10, lasts=True)
    def kind(x: int) -> int:
        calls.append(f"kind {x}")
        return x

    with results_for_one_build() if in_turn else nullcontext():
        for _ in range(2):
            with results_for_one_build(around_program=True), results_for_one_build():
                for _ in range(2):
                    assert estimate(1) == kind(1)
                    primitive_is_written()
    if in_turn:
        assert calls == ["estimate 1", "kind 1"]
    else:
        assert calls == 2 * ["estimate 1", "kind 1", "estimate 1"]


def test_a_build_drops_what_it_found_for_each_primitive(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    written = primitives.primitive_is_written

    def counted() -> None:
        written()
        kept.append(sub_expressions.cache_info().currsize)

    monkeypatch.setattr(primitives, "primitive_is_written", counted)
    text = "def @main(%x: Tensor[(4, 8), float32]) { nn.softmax(nn.dense(%x, %x)) }"
    build(parse(f'#[version = "0.0.5"]\n{text}'), threads=1)
    assert set(kept) == {0}


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: Tensor[(4, 8), float32]) { nn.softmax(nn.dense(%x, %x)) }",
        "def @main(%x: Tensor[(n, 8), float32]) { nn.softmax(nn.relu(%x)) }",
        "def @main(%x: Tensor[(4, 8), float32], %n: int32) "
        "{ if (%n < 1) { nn.relu(%x) } else { nn.softmax(%x) } }",
    ],
)
def test_nothing_of_a_build_outlives_it(text: str) -> None:
    before = _nests()
    build(parse(f'#[version = "0.0.5"]\n{text}'), threads=1)
    assert len(_nests()) <= len(before)


def _nests() -> list[object]:
    gc.collect()
    return [each for each in gc.get_objects() if type(each) is Nest]


def test_a_weak_reference_sees_what_is_kept() -> None:
    thing = Thing()
    reference = weakref.ref(thing)

    @remembered(10)
    def same(x: Thing) -> Thing:
        return x

    same(thing)
    del thing
    gc.collect()
    assert reference() is not None
    with results_for_one_build():
        pass
    gc.collect()
    assert reference() is None


def test_python_collects_rarely_during_a_build_and_then_as_before() -> None:
    usual = gc.get_threshold()
    try:
        gc.set_threshold(600, 9, 8)
        with results_for_one_build():
            with results_for_one_build():
                assert gc.get_threshold() == RARE_COLLECTIONS
            assert gc.get_threshold() == RARE_COLLECTIONS
        assert gc.get_threshold() == (600, 9, 8)
        with results_for_one_build():
            gc.set_threshold(500, 5, 5)
        assert gc.get_threshold() == (500, 5, 5), "a choice of the program's own stays"
        gc.set_threshold(0)
        with results_for_one_build():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*usual)
