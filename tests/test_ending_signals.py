"""Ctrl-C and SIGTERM end a block once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from relay_tune import ending_signals
from relay_tune.ending_signals import Ending, Terminated
from relay_tune.tuning.deferred_signals import deferred_signals


def test_the_first_signal_ends_the_block_and_later_ones_leave_its_end_alone() -> None:
    steps: list[str] = []
    with pytest.raises(KeyboardInterrupt), ending_signals.ending_signals() as ending:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGINT)
            steps.append("in order")
            signal.raise_signal(signal.SIGINT)
            steps.append("to the end")
    assert steps == ["in order", "to the end"]
    assert ending.has_begun and not ending.terminated


def test_a_handler_that_the_block_sets_stays() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with ending_signals.ending_signals():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_end_that_hangs_can_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending_signals, "ENDING_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt), ending_signals.ending_signals():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)


def test_sigterm_is_raised_as_its_own_kind() -> None:
    with pytest.raises(Terminated), ending_signals.ending_signals(pass_on=False) as ending:
        signal.raise_signal(signal.SIGTERM)
    assert ending.terminated
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_process_of_a_caller_without_a_handler_ends_by_sigterm() -> None:
    script = """
import signal
from relay_tune.ending_signals import ending_signals
with ending_signals():
    try:
        signal.raise_signal(signal.SIGTERM)
    except KeyboardInterrupt:
        print("in order", flush=True)
print("never reached", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "in order\n")


def test_handlers_of_the_caller_and_of_outer_blocks_stay() -> None:
    caught: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: caught.append(number))
    try:
        with ending_signals.ending_signals():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught == [signal.SIGTERM]
    with ending_signals.ending_signals(pass_on=False) as outer:
        with pytest.raises(Terminated), ending_signals.ending_signals() as inner:
            signal.raise_signal(signal.SIGTERM)
        assert outer.terminated and inner == Ending()


def test_steps_that_are_held_are_not_divided_by_sigterm() -> None:
    steps: list[int] = []
    with pytest.raises(Terminated), ending_signals.ending_signals(pass_on=False):
        with deferred_signals():
            signal.raise_signal(signal.SIGTERM)
            steps.append(1)
        steps.append(2)
    assert steps == [1]


def test_other_threads_change_no_handler() -> None:
    before = signal.getsignal(signal.SIGINT)
    found: list[object] = []

    def look() -> None:
        with ending_signals.ending_signals():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [before]
