"""Ctrl-C waits for the end of a step, and is not lost."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest

from relay_tune.ending_signals import ending_signals
from relay_tune.tuning.deferred_signals import deferred_signals


def test_an_interrupt_is_raised_at_the_end_of_the_block() -> None:
    steps: list[int] = []
    with pytest.raises(KeyboardInterrupt), deferred_signals():
        signal.raise_signal(signal.SIGINT)
        steps.append(1)
        signal.raise_signal(signal.SIGINT)
        steps.append(2)
    assert steps == [1, 2]


def test_each_signal_takes_effect_though_the_first_one_raises() -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        ending_signals(pass_on=False) as ending,
        deferred_signals(),
    ):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    assert ending.terminated


@pytest.mark.parametrize("replaced", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_handlers_change_leaves_none_behind(
    replaced: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both where the block begins and where it ends."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    set_handler, changes = signal.signal, []

    def interrupted(number: signal.Signals, handler: Any) -> Any:
        result = set_handler(number, handler)
        changes.append(number)
        if number is replaced:
            raise KeyboardInterrupt
        return result

    with ending_signals(pass_on=False), monkeypatch.context() as patched:
        outer = signal.getsignal(signal.SIGTERM)
        patched.setattr(signal, "signal", interrupted)
        with pytest.raises(KeyboardInterrupt), deferred_signals():
            pass
        assert signal.getsignal(signal.SIGTERM) == signal.getsignal(signal.SIGINT) == outer
    assert changes.count(replaced) == 2
    assert {number: signal.getsignal(number) for number in before} == before


def test_an_interrupt_is_not_lost_where_the_block_fails() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, deferred_signals():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("first")
    assert isinstance(caught.value.__context__, ValueError)


def test_the_handler_of_before_is_in_force_again() -> None:
    before = signal.getsignal(signal.SIGINT)
    with deferred_signals():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_an_ignored_interrupt_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_signals():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_have_nothing_to_hold() -> None:
    done: list[bool] = []

    def step() -> None:
        with deferred_signals():
            done.append(True)

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert done == [True]
