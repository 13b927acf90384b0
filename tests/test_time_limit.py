"""The time is over: what runs is interrupted once, where nothing else ends it already."""

from __future__ import annotations

import os
import signal
import threading
from math import inf

import pytest

from relay_tune.time_limit import TimeIsOver, time_limit
from relay_tune.tuning.deferred_signals import deferred_signals

pytestmark = pytest.mark.skipif(os.name != "posix", reason="timers of POSIX")

LONG = 1000.0


def test_the_alarm_ends_a_block_once() -> None:
    with pytest.raises(TimeIsOver), time_limit(LONG):
        try:
            signal.raise_signal(signal.SIGALRM)
        except TimeIsOver:
            signal.raise_signal(signal.SIGALRM)  # the end is not ended
            raise
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_timer_that_is_over_already_ends_the_block_at_once() -> None:
    with pytest.raises(TimeIsOver), time_limit(-1.0):
        while True:
            pass


def test_errors_that_end_the_block_already_end_it_in_order() -> None:
    with pytest.raises(KeyError), time_limit(LONG):
        try:
            raise KeyError
        finally:
            signal.raise_signal(signal.SIGALRM)


def test_steps_that_are_held_are_done_before() -> None:
    steps: list[str] = []
    with pytest.raises(TimeIsOver), time_limit(LONG):
        with deferred_signals():
            signal.raise_signal(signal.SIGALRM)
            steps.append("done")
        steps.append("never reached")
    assert steps == ["done"]


def test_alarms_of_the_caller_and_of_outer_blocks_stay() -> None:
    caught: list[int] = []
    signal.signal(signal.SIGALRM, lambda number, _: caught.append(number))
    try:
        with time_limit(0.0):
            signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert caught == [signal.SIGALRM]
    with pytest.raises(TimeIsOver), time_limit(LONG):
        with time_limit(0.0):
            pass
        signal.raise_signal(signal.SIGALRM)


def test_there_is_no_limit_without_an_end_or_in_other_threads() -> None:
    ended: list[bool] = []

    def run() -> None:
        with time_limit(0.0):
            ended.append(signal.getsignal(signal.SIGALRM) is signal.SIG_DFL)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    with time_limit(inf):
        ended.append(signal.getsignal(signal.SIGALRM) is signal.SIG_DFL)
    assert ended == [True, True]
