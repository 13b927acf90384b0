from dataclasses import replace

import pytest

from relay_tune.codegen.kernel_calls import BufferAddress, KernelCall, KernelChoice, sweeps_of
from relay_tune.codegen.main_function import LONGEST_BLOCK
from relay_tune.codegen.sweeps import KEPT_BYTES, Direction, Sweep, directions, sweep_shares
from tests.codegen.logged_runs import logged_runs

RECORD = """
@count = internal global i64 0
define void @record(ptr %log, i64 %share, i64 %shares) nounwind {
  %place = atomicrmw add ptr @count, i64 1 seq_cst
  %at = getelementptr [2 x i64], ptr %log, i64 %place
  store i64 %share, ptr %at
  %next = getelementptr i64, ptr %at, i64 1
  store i64 %shares, ptr %next
  ret void
}
"""


def recorded(calls: list[KernelCall], threads: int, runs: int) -> list[list[tuple[int, int]]]:
    """(share, shares) of each kernel call, for each run."""
    logs = logged_runs(calls, RECORD, threads, runs)
    return [list(zip(log[::2], log[1::2], strict=True)) for log in logs]


def sweep(shares: int, offset: int = 0) -> KernelCall:
    return KernelCall("record", (BufferAddress(0),), 1, BufferAddress(1, offset), shares)


def test_calls_that_read_the_same_weights_alternate() -> None:
    (run, again) = recorded([sweep(4), sweep(4)], threads=1, runs=2)
    assert [share for share, _ in run] == [0, 1, 2, 3, 3, 2, 1, 0]
    assert again == run


def test_runs_alternate_where_the_last_call_went_forward() -> None:
    runs = recorded([sweep(4)], threads=1, runs=3)
    orders = [[share for share, _ in run] for run in runs]
    assert orders == [[0, 1, 2, 3], [3, 2, 1, 0], [0, 1, 2, 3]]


def test_other_weights_are_walked_on_their_own() -> None:
    (run,) = recorded([sweep(2), sweep(4, 64), sweep(2)], threads=1, runs=1)
    assert run == [(0, 2), (1, 2), (0, 4), (1, 4), (2, 4), (3, 4), (1, 2), (0, 2)]


@pytest.mark.parametrize("before", [LONGEST_BLOCK - 2, LONGEST_BLOCK - 1, LONGEST_BLOCK])
@pytest.mark.parametrize("threads", [1, 2])
def test_sweeps_at_the_end_of_a_block_of_calls(before: int, threads: int) -> None:
    serial = [KernelCall("record", (BufferAddress(0),), 0)] * before
    (run,) = recorded([*serial, sweep(2), sweep(4, 64), *serial], threads, runs=1)
    assert run[:before] == run[-before:] == [(0, 1)] * before
    assert sorted(run[before:-before][:2]) == [(0, 2), (1, 2)]
    assert sorted(run[before:-before][2:]) == [(share, 4) for share in range(4)]


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("shares", [2, 8])
def test_several_threads_do_each_share_once(threads: int, shares: int) -> None:
    calls = [sweep(shares), KernelCall("record", (BufferAddress(0),)), sweep(shares)]
    for run in recorded(calls, threads, runs=4):
        counts = [run[0][1], threads, run[0][1]]
        begin = 0
        for count in counts:
            part = run[begin : begin + count]
            assert sorted(part) == [(share, count) for share in range(count)]
            begin += count
        assert begin == len(run)


def swept(*weights: str | None) -> list[Sweep]:
    return [Sweep(each, 64, 64) for each in weights]


def test_directions_of_a_program() -> None:
    back, forth = Direction(True, False), Direction(False, False)
    assert directions(swept("a", None, "a")) == [forth, None, back]
    assert directions(swept("a", "b")) == [Direction(False, True)] * 2
    odd = [Direction(False, True), Direction(True, True), Direction(False, True)]
    assert directions(swept("a", "a", "a")) == odd


def test_weights_that_others_push_out_are_walked_forward() -> None:
    other = Sweep(None, 0, KEPT_BYTES)
    once, large = Sweep("a", 64, 64), Sweep("b", 10 * KEPT_BYTES, 10 * KEPT_BYTES)
    assert directions([once, other]) == [None, None]
    assert directions([large]) == [Direction(False, True)]
    assert directions([large, once]) == [Direction(False, True), None]
    assert directions([once, once, other]) == [
        Direction(False, False),
        Direction(True, False),
        None,
    ]


def test_alternatives_count_once() -> None:
    """Each of two alternatives reads enough to push the other call's weights out, if both ran."""
    first, second = (sweep(2, offset) for offset in (64, 128))
    half = KEPT_BYTES * 3 // 4
    ways = tuple((replace(each, own=half, read=half),) for each in (first, second))
    calls = [KernelChoice(0, ways), replace(sweep(2), own=64, read=64)]
    found = directions(list(sweeps_of(calls)))
    assert found == [Direction(False, True)] * 3


def test_only_matrix_vector_products_are_swept() -> None:
    weights = 512 * 2048
    assert sweep_shares(4 * weights, weights, 16) == 16
    assert sweep_shares(4 * weights, weights, 12) == 8
    assert sweep_shares(4 * weights, weights, 1000) == 32
    assert sweep_shares(4 * weights, 100 * weights, 16) == 0
    assert sweep_shares(4 * 1024, 1024, 16) == 0
    assert sweep_shares(4 * weights, weights, 1) == 0


def test_tables_of_which_rows_are_looked_up_are_not_swept() -> None:
    assert sweep_shares(4 * 50000 * 768, 768, 256) == 0
