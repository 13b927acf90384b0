"""The small parts of measuring: comparing, guarding, timing, messages, inputs."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from relay_tune.frontend.relay_text import parse
from relay_tune.runtime.measuring import cold_constants
from relay_tune.runtime.measuring.cold_constants import (
    MEASURING_SECONDS,
    MOST_COPIES,
    ConstantCopies,
    copies_wanted,
    outputs_wanted,
    runs_in_turn,
)
from relay_tune.runtime.measuring.compare_outputs import difference
from relay_tune.runtime.measuring.guarded_buffer import GuardedBuffer, guarded_buffers
from relay_tune.runtime.measuring.inputs import MeasureInputs, load_inputs, save_inputs
from relay_tune.runtime.measuring.message import Slot, SlotKind, read_message, write_message
from relay_tune.runtime.measuring.random_inputs import measure_inputs
from relay_tune.runtime.measuring.timing import time_runs
from relay_tune.schedule.packing import PackedAxis, PackRecipe
from relay_tune.transform.infer import InferTypes


class TestDifference:
    expected = np.array([1.0, -100.0, 0.0], np.float32)

    def test_small_differences_are_allowed_relative_to_the_largest(self) -> None:
        assert difference(self.expected + np.float32(0.009), self.expected) is None
        reason = difference(self.expected + np.array([0, 0, 0.02], np.float32), self.expected)
        assert reason is not None and reason.startswith("element 2 is 0.0")

    def test_larger_ones_where_factors_are_rounded_to_bfloat16(self) -> None:
        found = self.expected + np.float32(5)
        assert difference(found, self.expected) is not None
        assert difference(found, self.expected, rounds_factors=True) is None
        assert difference(found + 5, self.expected, rounds_factors=True) is not None
        integers = np.arange(5)
        assert difference(integers + 1, integers, rounds_factors=True) is not None

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_nan_and_infinity_are_wrong(self, value: float) -> None:
        found = self.expected.copy()
        found[1] = value
        reason = difference(found, self.expected)
        assert reason is not None and reason.startswith("element 1 is")

    def test_specials_must_be_at_the_same_indices(self) -> None:
        special = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
        assert difference(special.copy(), special) is None
        assert difference(special[[1, 0, 2, 3]], special) is not None
        assert difference(special[[0, 2, 1, 3]], special) is not None
        assert difference(np.ones(4, np.float32), special) is not None

    def test_integers_are_exact(self) -> None:
        expected = np.arange(5, dtype=np.int32)
        assert difference(expected.copy(), expected) is None
        assert difference(expected + (expected == 3), expected) is not None

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
    def test_narrow_floats_are_compared_coarsely(self, dtype: type) -> None:
        expected = np.linspace(-2, 2, 9).astype(dtype)
        assert difference((expected.astype(np.float32) * 1.01).astype(dtype), expected) is None
        assert difference((expected.astype(np.float32) + 0.5).astype(dtype), expected) is not None

    def test_nothing_equals_nothing(self) -> None:
        assert difference(np.zeros(0, np.float32), np.zeros(0, np.float32)) is None


class TestGuardedBuffer:
    def test_its_content_is_its_own(self) -> None:
        buffer = GuardedBuffer(100)
        assert buffer.address % 64 == 0
        buffer.poison()
        assert buffer.intact
        assert np.isnan(buffer.content.view(np.float32)).all()

    @pytest.mark.parametrize("offset", [-1, 100])
    def test_one_byte_outside_is_noticed(self, offset: int) -> None:
        buffer = GuardedBuffer(100)
        buffer._memory[buffer._start + offset] = 0
        assert not buffer.intact

    def test_buffers_side_by_side_keep_apart(self) -> None:
        sizes = (100, 0, 3 << 20, 65)
        buffers = guarded_buffers(sizes)
        assert [buffer.content.nbytes for buffer in buffers] == list(sizes)
        for buffer in buffers:
            assert buffer.address % 64 == 0
            buffer.poison()
        assert all(buffer.intact for buffer in buffers)
        buffers[2]._memory[buffers[2]._end] = 0
        assert [buffer.intact for buffer in buffers] == [True, True, False, True]
        assert guarded_buffers(()) == []


def runs_of(seconds: float, calls: list[int]) -> Callable[[int], float]:
    def run(count: int) -> float:
        calls.append(count)
        return seconds * count

    return run


class TestTiming:
    def test_fast_kernels_are_repeated(self) -> None:
        calls: list[int] = []
        timing = time_runs(runs_of(1e-6, calls), 1e-5, None)
        assert timing.seconds == pytest.approx(1e-6)
        assert 0.5e-3 < max(calls) * 1e-6 < 2e-3
        assert sum(calls) * 1e-6 < 30e-3

    def test_slow_kernels_run_few_times(self) -> None:
        calls: list[int] = []
        assert time_runs(runs_of(0.2, calls), 0.3, None).seconds == 0.2
        assert calls == [1, 1, 1, 1]

    def test_hopeless_ones_stop_early(self) -> None:
        calls: list[int] = []
        assert time_runs(runs_of(0.2, calls), 0.3, best=0.05).seconds == 0.2
        assert calls == [1, 1]
        assert time_runs(runs_of(0.2, calls), 0.3, best=0.01).seconds == 0.3
        assert calls == [1, 1]

    def test_two_samples_are_enough_of_one_that_is_clearly_slower(self) -> None:
        calls: list[int] = []
        assert time_runs(runs_of(0.2, calls), 0.3, best=0.1).seconds == 0.2
        assert calls == [1, 1]
        assert time_runs(runs_of(0.2, calls), 0.3, best=0.19).seconds == 0.2
        assert calls == [1, 1, 1, 1, 1, 1]

    def test_on_a_busy_machine_it_goes_on_until_two_samples_agree(self) -> None:
        samples = iter([9e-3, 4e-3, 5e-3, 3e-3, 8e-3, 1e-3, 7e-3, 1.02e-3, 6e-3])
        assert time_runs(lambda _: next(samples), 9e-3, None).seconds == 1e-3
        assert next(samples) == 6e-3

    def test_but_not_for_ever(self) -> None:
        calls: list[int] = []

        def slower_and_slower(count: int) -> float:
            calls.append(count)
            return 2e-3 * 1.1 ** len(calls)

        time_runs(slower_and_slower, 1e-2, None)
        assert len(calls) < 20

    def test_the_fastest_sample_counts(self) -> None:
        samples = iter([0.3, 0.1, 0.2, 0.4])
        timing = time_runs(lambda _: next(samples), 0.5, None)
        assert timing.seconds == 0.1
        assert timing.spread == pytest.approx(0.15)


class TestMessages:
    def test_headers_and_blobs_come_back(self) -> None:
        stream = io.BytesIO()
        write_message(stream, {"kind": "measure"}, [b"object", b""])
        write_message(stream, {"kind": "load"})
        stream.seek(0)
        assert read_message(stream) == ({"kind": "measure"}, [b"object", b""])
        assert read_message(stream) == ({"kind": "load"}, [])
        assert read_message(stream) is None

    def test_a_message_that_is_cut_off_is_the_end(self) -> None:
        stream = io.BytesIO()
        write_message(stream, {"kind": "measure"})
        assert read_message(io.BytesIO(stream.getvalue()[:-3])) is None

    @pytest.mark.parametrize(
        "slot",
        [
            Slot(SlotKind.INPUT, 3),
            Slot(SlotKind.SCRATCH, bytes=640),
            Slot(
                SlotKind.CONSTANT,
                1,
                recipe=PackRecipe(5, (PackedAxis(10, 4, 3),), (PackedAxis(4, 1, 1),)),
            ),
        ],
    )
    def test_slots_come_back(self, slot: Slot) -> None:
        assert Slot.from_json(slot.to_json()) == slot


class TestInputs:
    text = """
#[version = "0.0.5"]
def @main(%t: Tensor[(5, 3), float32], %i: Tensor[(4), int64], %q: Tensor[(2, 2), uint8]) {
  (take(%t, %i, axis=0), add(%q, %q))
}
"""

    def test_the_reference_gives_what_is_expected(self) -> None:
        function = InferTypes()(parse(self.text)).main
        data = measure_inputs(function, [], seed=1)
        table, indices, numbers = data.inputs
        assert set(np.unique(indices)) <= {0, 1}
        assert numbers.max() < 16
        np.testing.assert_array_equal(data.expected[0], table[indices])
        np.testing.assert_array_equal(data.expected[1], numbers + numbers)
        again = measure_inputs(function, [], seed=1)
        assert all((a == b).all() for a, b in zip(data.inputs, again.inputs, strict=True))

    def test_arrays_come_back_from_their_files(self, tmp_path: Path) -> None:
        function = InferTypes()(parse(self.text)).main
        brain = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
        data = measure_inputs(function, [brain, np.zeros((0, 2), np.int8)], seed=1)
        loaded = load_inputs(save_inputs(data, tmp_path / "task"))
        for mine, theirs in zip(data.constants, loaded.constants, strict=True):
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
            assert (mine == theirs).all()
        assert loaded.constants[0].ctypes.data % 64 == 0
        assert len(loaded.inputs) == 3 and len(loaded.expected) == 2
        assert data.second is not None and loaded.second is not None
        for mine, theirs in zip(data.second.inputs, loaded.second.inputs, strict=True):
            np.testing.assert_array_equal(mine, theirs)

    def test_the_second_inputs_are_others(self) -> None:
        function = InferTypes()(parse(self.text)).main
        data = measure_inputs(function, [], seed=1)
        first, second = data.samples
        assert (first.inputs[0] != second.inputs[0]).all()
        table, indices, numbers = second.inputs
        np.testing.assert_array_equal(second.expected[0], table[indices])
        np.testing.assert_array_equal(second.expected[1], numbers + numbers)
        assert MeasureInputs(first.inputs, (), first.expected).samples[1].inputs is first.inputs


@pytest.mark.parametrize(
    ("copies", "output_sets"), [(1, 1), (3, 4), (64, 65), (64, 2), (3, 2), (1, 9)]
)
def test_no_run_finds_the_constants_of_the_one_before(copies: int, output_sets: int) -> None:
    """Nor does the first one find those of the last, behind which it follows again."""
    count = runs_in_turn(copies, output_sets)
    found = [run % copies for run in range(count)]
    assert set(found) == set(range(copies)) and count >= output_sets
    assert copies == 1 or all(found[run] != found[run - 1] for run in range(count))


class TestConstantCopies:
    @pytest.fixture(autouse=True)
    def caches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes = (32 << 10, 1 << 20, 32 << 20)
        monkeypatch.setattr(cold_constants, "cache_sizes", lambda: sizes)

    def test_enough_to_clear_the_caches_that_the_network_clears(self) -> None:
        assert copies_wanted(1 << 20, 10 << 20, seconds=1e-6, threads=1) == 3
        assert copies_wanted(1 << 20, 10 << 20, seconds=1e-6, threads=2) == 5
        assert copies_wanted(1 << 16, 1 << 18, seconds=1e-6, threads=1) == 2
        assert copies_wanted(8 << 20, 500 << 20, seconds=1e-6, threads=1) == 9
        assert copies_wanted(300 << 20, 500 << 20, seconds=1e-6, threads=1) == 2
        assert copies_wanted(1 << 10, 10 << 20, seconds=1e-6, threads=1) == MOST_COPIES

    def test_memory_where_the_network_fills_half_of_the_last_cache(self) -> None:
        assert copies_wanted(8 << 20, 17 << 20, seconds=1e-6, threads=1) == 9
        assert copies_wanted(8 << 20, 17 << 20, seconds=1e-6, threads=2) == 9
        assert copies_wanted(8 << 20, 15 << 20, seconds=1e-6, threads=1) == 2

    def test_a_share_of_a_last_cache_that_many_use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cold_constants, "cache_sizes", lambda: (32 << 10, 2 << 20, 480 << 20))
        assert copies_wanted(16 << 20, 60 << 20, seconds=1e-6, threads=1) == 9

    def test_none_where_nothing_comes_in_between(self) -> None:
        assert copies_wanted(1 << 20, 0, seconds=1e-6, threads=1) == 1
        assert copies_wanted(0, 10 << 20, seconds=1e-6, threads=1) == 1

    def test_few_for_a_slow_kernel(self) -> None:
        assert copies_wanted(1 << 20, 60 << 20, seconds=MEASURING_SECONDS, threads=2) == 3

    def test_outputs_come_to_lie_where_the_near_caches_hold_nothing(self) -> None:
        assert outputs_wanted(1 << 18, 1 << 18, 10 << 20, seconds=1e-6, threads=1) == 5
        assert outputs_wanted(1 << 18, 1 << 18, 10 << 20, seconds=1e-6, threads=2) == 9
        assert outputs_wanted(8 << 20, 0, 500 << 20, seconds=1e-6, threads=1) == 2
        assert outputs_wanted(1 << 10, 8 << 20, 500 << 20, seconds=1e-6, threads=1) == 2

    def test_outputs_stay_where_caches_keep_them(self) -> None:
        assert outputs_wanted(1 << 20, 1 << 20, 0, seconds=1e-6, threads=1) == 1
        assert outputs_wanted(0, 1 << 20, 10 << 20, seconds=1e-6, threads=1) == 1

    def test_few_outputs_of_a_slow_kernel(self) -> None:
        assert outputs_wanted(1 << 10, 0, 10 << 20, seconds=MEASURING_SECONDS, threads=1) == 4

    def test_copies_are_equal_and_apart(self) -> None:
        arrays = [np.arange(5, dtype=np.float32), np.arange(3, dtype=np.int8)]
        copies = ConstantCopies()
        addresses = copies.copy(arrays, 3)
        assert len({address for row in addresses for address in row}) == 6
        for row in addresses[1:]:
            assert all(address % 64 == 0 for address in row)
            for array, address in zip(arrays, row, strict=True):
                assert ctypes.string_at(address, array.nbytes) == array.tobytes()

    def test_memory_that_holds_numbers_is_not_written_again(self) -> None:
        copies = ConstantCopies()
        first, second = np.full(64, 1, np.float32), np.full(32, 2, np.float32)
        (_, address) = copies.copy([first], 2)
        (own, again) = copies.copy([second], 2)
        assert again == address and own == [second.ctypes.data]
        assert ctypes.string_at(address[0], 256) == first.tobytes()

    def test_indices_are_always_written(self) -> None:
        copies = ConstantCopies()
        copies.copy([np.full(64, 1, np.float32)], 2)
        indices = np.full(16, 3, np.int64)
        (_, address) = copies.copy([indices], 2)
        assert ctypes.string_at(address[0], 128) == indices.tobytes()
        numbers = np.full(16, 4, np.float32)
        (_, address) = copies.copy([numbers], 2)
        assert ctypes.string_at(address[0], 64) == numbers.tobytes()
