"""In which order the kernels of a program run, and where threads wait for each other."""

import pytest

from relay_tune.codegen.kernel_calls import (
    BufferAddress,
    KernelCall,
    KernelChoice,
    single_calls,
    with_symbols,
)
from relay_tune.codegen.main_function import LONGEST_BLOCK, main_text
from relay_tune.codegen.target import native_target
from tests.codegen.logged_runs import logged_runs

NOTE = """
@count = internal global i64 0
define void @note(ptr %log, ptr %argument, i64 %share, i64 %shares) nounwind {
  %from = ptrtoint ptr %log to i64
  %to = ptrtoint ptr %argument to i64
  %number = sub i64 %to, %from
  %place = atomicrmw add ptr @count, i64 1 seq_cst
  %at = getelementptr i64, ptr %log, i64 %place
  store i64 %number, ptr %at
  ret void
}
"""


def call(number: int, grain: int) -> KernelCall:
    """A kernel that writes its number into the log."""
    return KernelCall("note", (BufferAddress(0), BufferAddress(0, number)), grain)


def noted(calls: list[KernelCall], threads: int) -> list[int]:
    """The numbers of the kernels in the order in which they ran."""
    (log,) = logged_runs(calls, NOTE, threads, runs=1)
    return log


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("count", [1, LONGEST_BLOCK - 1, LONGEST_BLOCK, 3 * LONGEST_BLOCK + 5])
def test_kernels_for_one_thread_run_in_order(count: int, threads: int) -> None:
    calls = [call(number, 0) for number in range(count)]
    assert noted(calls, threads) == list(range(count))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_kernels_for_all_threads_stand_between(threads: int) -> None:
    calls = [call(0, 0), call(1, 0), call(2, 1), call(3, 0), call(4, 0), call(5, 0)]
    assert noted(calls, threads) == [0, 1, *[2] * threads, 3, 4, 5]


def test_threads_meet_once_for_kernels_of_one_thread() -> None:
    def meetings(grains: list[int]) -> int:
        calls = [call(number, grain) for number, grain in enumerate(grains)]
        return main_text("main_run", calls, native_target().triple).count("call void @relay_tune_c")

    assert meetings([0] * 5) == 1
    assert meetings([0, 0, 1, 1, 0]) == 4
    assert meetings([0] * (LONGEST_BLOCK + 1)) == 2


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_the_table_chooses_between_calls(chosen: int, threads: int) -> None:
    choice = KernelChoice(1, ((call(1, 0),), (call(2, 0), call(3, 1)), (call(4, 1), call(5, 0))))
    calls = [call(0, 0), choice, call(6, 0), choice]
    (log,) = logged_runs(calls, NOTE, threads, runs=1, words=[chosen])
    own = [[1], [2, *[3] * threads], [*[4] * threads, 5]][chosen]
    assert log == [0, *own, 6, *own]


def test_calls_of_alternatives_are_renamed_in_order() -> None:
    choice = KernelChoice(1, ((call(1, 0),), (call(2, 0), call(3, 1))))
    renamed = with_symbols([call(0, 0), choice], iter("abcd"))
    assert [each.symbol for each in single_calls(renamed)] == [*"abcd"]
    assert [each.arguments for each in single_calls(renamed)] == [
        call(number, 0).arguments for number in range(4)
    ]
