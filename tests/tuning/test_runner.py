"""Waiting for candidates, no longer than there is patience."""

from __future__ import annotations

from concurrent.futures import Future
from math import inf

import pytest

from relay_tune.schedule.schedule import Schedule
from relay_tune.time_limit import TimeIsOver
from relay_tune.tuning import runner
from relay_tune.tuning.runner import Prepared


def test_what_is_ready_is_given_before_the_time_is_over() -> None:
    done: Future[Prepared] = Future()
    done.set_result(Prepared(Schedule(())))
    never: Future[Prepared] = Future()
    found = runner._awaited([done, done, never], lambda: 0.0)
    assert next(found) is next(found) is done.result()
    with pytest.raises(TimeIsOver):
        next(found)


def test_patience_may_be_endless() -> None:
    done: Future[Prepared] = Future()
    done.set_result(Prepared(Schedule(())))
    assert list(runner._awaited([done], lambda: inf)) == [done.result()]
    assert list(runner._awaited([done], runner.endless)) == [done.result()]
