"""Timing several things so that changes of the machine's speed meet all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Turns = Mapping[str, list[float]]
"""The seconds of each timed call by the name of the variant."""

CALLS_IN_A_TURN = 5
PAUSE_SECONDS = 0.05
"""Between turns: the waiting threads of the runtime before must have gone to sleep."""


def time_in_turns(variants: Mapping[str, Callable[[], object]], turns: int) -> Turns:
    """Time each variant in `turns` turns of some calls, after one call that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(turns):
        for name, call in variants.items():
            time.sleep(PAUSE_SECONDS)
            call()
            times[name] += [_seconds(call) for _ in range(CALLS_IN_A_TURN)]
    return times


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
