"""Runs of one thread are timed by its own clock, if that is fine enough."""

import time
from itertools import count

from relay_tune.runtime.run_clock import RunClock, is_fine, run_clock


def test_runs_of_several_threads_are_timed_by_the_wall_clock() -> None:
    assert run_clock(2).seconds is time.perf_counter


def test_a_thread_that_sleeps_spends_nothing_of_its_clock() -> None:
    clock = run_clock(1)
    if clock.seconds is time.perf_counter:
        return  # there is no better one here
    assert clock == RunClock(time.CLOCK_THREAD_CPUTIME_ID, time.thread_time)
    before = clock.seconds()
    time.sleep(0.05)
    assert clock.seconds() - before < 0.05


def test_clocks_that_tick_are_told() -> None:
    calls = count()
    assert is_fine(lambda: 1e-6 * next(calls))
    assert not is_fine(lambda: 0.01 * (next(calls) // 1000))
    assert not is_fine(lambda: 7.0)
