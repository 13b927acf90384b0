"""The machine's rates: the log's come first, unless they did not repeat when they were measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.tuning.events import Event, RatesDisturbed
from relay_tune.tuning.known_limits import known_limits
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.scope import TuningScope

CALM = MachineLimits(2, {"float32": 1e11}, (CacheLimit(1e5, 2e11),), 4e10)
BUSY = replace(CALM, caches=(CacheLimit(1e5, 5e10),), memory=5e10, disturbed=1)


class Measurements:
    """Gives these limits, one after the other."""

    def __init__(self, *found: MachineLimits) -> None:
        self.left = list(found)

    def __call__(self) -> MachineLimits:
        return self.left.pop(0)


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[LogKeeper]:
    found = LogKeeper(tmp_path / "log.db", TuningScope("x", 2, "1"))
    yield found
    found.close()


def test_what_repeated_is_measured_once(keeper: LogKeeper) -> None:
    events: list[Event] = []
    measure = Measurements(CALM)
    assert known_limits(keeper, 2, measure, events.append) == CALM
    assert known_limits(keeper, 2, measure, events.append) == CALM
    assert not measure.left and not events


def test_what_did_not_repeat_is_said_and_measured_again_by_the_next_run(keeper: LogKeeper) -> None:
    events: list[Event] = []
    measure = Measurements(BUSY, replace(BUSY, disturbed=2), CALM)
    assert known_limits(keeper, 2, measure, events.append) == BUSY
    assert known_limits(keeper, 2, measure, events.append) == BUSY
    assert events == [RatesDisturbed(1), RatesDisturbed(1)]
    joined = replace(CALM, memory=5e10)
    assert known_limits(keeper, 2, measure, events.append) == joined
    assert known_limits(keeper, 2, measure, events.append) == joined
    assert len(events) == 2 and not measure.left
