import ctypes

import pytest

from relay_tune.codegen.compiler import LoadedCode, compile_text
from relay_tune.codegen.main_function import KernelCall, Place, main_text
from relay_tune.codegen.sweeps import Direction, directions, sweep_shares
from relay_tune.codegen.target import native_target
from relay_tune.runtime.threads import thread_pool

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
    target = native_target()
    triple = f'target triple = "{target.triple}"\n'
    texts = [main_text("main_run", calls, target.triple), triple + RECORD]
    pool = thread_pool()
    code = LoadedCode([compile_text(text, target) for text in texts], ["main_run"], pool.imports)
    log = (ctypes.c_int64 * 4096)(*[-1] * 4096)
    table = (ctypes.c_void_p * 1)(ctypes.addressof(log))
    found, begin = [], 0
    for _ in range(runs):
        pool.run(code.address("main_run"), table, threads)
        end = log[:].index(-1)
        found.append(list(zip(log[begin:end:2], log[begin + 1 : end : 2], strict=True)))
        begin = end
    return found


def sweep(shares: int, offset: int = 0) -> KernelCall:
    return KernelCall("record", (Place(0),), 1, Place(1, offset), shares)


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


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("shares", [2, 8])
def test_several_threads_do_each_share_once(threads: int, shares: int) -> None:
    calls = [sweep(shares), KernelCall("record", (Place(0),)), sweep(shares)]
    for run in recorded(calls, threads, runs=4):
        counts = [run[0][1], threads, run[0][1]]
        begin = 0
        for count in counts:
            part = run[begin : begin + count]
            assert sorted(part) == [(share, count) for share in range(count)]
            begin += count
        assert begin == len(run)


def test_directions_of_a_program() -> None:
    back, forth = Direction(True, False), Direction(False, False)
    assert directions(["a", None, "a"]) == [forth, None, back]
    assert directions(["a", "b"]) == [Direction(False, True)] * 2
    odd = [Direction(False, True), Direction(True, True), Direction(False, True)]
    assert directions(["a", "a", "a"]) == odd


def test_only_matrix_vector_products_are_swept() -> None:
    weights = 512 * 2048
    assert sweep_shares(4 * weights, weights, 16) == 16
    assert sweep_shares(4 * weights, weights, 12) == 8
    assert sweep_shares(4 * weights, weights, 1000) == 32
    assert sweep_shares(4 * weights, 100 * weights, 16) == 0
    assert sweep_shares(4 * 1024, 1024, 16) == 0
    assert sweep_shares(4 * weights, weights, 1) == 0
