"""Measuring the winners again: the best of many noisy times is too good to be true.

The default and the fastest schedules are measured in turn, several times, so that all of them see
the same state of the machine; the least time of each counts, for disturbances only add. This goes
on until the fastest schedule is one that was confirmed.

A first time that was lucky is some percent too low. One that is many times lower than all that
follow was not lucky: the others were disturbed. More rounds are taken then, and if that is in vain,
the first time stays, for it was possible (`relay_tune.tuning.plausible_runner`).
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.remembered import code_for_one_round
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.tuning.runner import Patience, Runner, endless
from relay_tune.tuning.task_state import TaskState, Tried

CONFIRMED_TOGETHER = 3
"""The fastest schedules of a task that are measured again in turn."""

ROUNDS = 3
"""How often each of them is."""

MOST_ROUNDS = 12
"""How often where one was disturbed each time."""

DISTURBED = 2.0
"""By such a factor no luck makes a first time too low."""

PASSES = 4
"""How often the fastest are chosen at most: measured again, one may fall behind others."""


def next_to_confirm(state: TaskState) -> list[Tried]:
    """The schedules to measure again: the fastest, and the default for comparison.

    Empty when the fastest schedule is confirmed, or is the default one, which needs no proof.
    """
    correct = [tried for tried in state.tried.values() if tried.seconds is not None]
    ranked = sorted(correct, key=lambda tried: tried.seconds or 0.0)
    default = state.default_tried
    if not ranked or ranked[0].confirmed or ranked[0] is default:
        return []
    chosen = [tried for tried in ranked[:CONFIRMED_TOGETHER] if not tried.confirmed]
    compared = [tried for tried in (default, _fastest_confirmed(ranked)) if tried is not None]
    return [*chosen, *(tried for tried in dict.fromkeys(compared) if tried not in chosen)]


def _fastest_confirmed(ranked: Sequence[Tried]) -> Tried | None:
    return next((tried for tried in ranked if tried.confirmed), None)


def measure_in_turn(
    runner: Runner, state: TaskState, chosen: Sequence[Tried], patience: Patience = endless
) -> list[tuple[Tried, Measurement]]:
    """One measurement for each schedule: the best of several rounds through all of them.

    There are more rounds while one is far above its first time, and `patience` lasts. Raises
    TimeIsOver when `patience` has come to its end before they are prepared.
    """
    with code_for_one_round():
        drafts = [runner.draft(state.task, tried.schedule) for tried in chosen]
    prepared = list(runner.prepare(state.task, drafts, state.best_seconds, patience))
    found: list[list[Measurement]] = [[] for _ in prepared]
    for number in range(MOST_ROUNDS):
        if number >= ROUNDS and not (patience() > 0 and any(map(_is_disturbed, chosen, found))):
            break
        for item, own in zip(prepared, found, strict=True):
            own.append(runner.measure(state.task, item, state.best_seconds))
    return [(tried, _joined(tried, own)) for tried, own in zip(chosen, found, strict=True)]


def _is_disturbed(tried: Tried, found: Sequence[Measurement]) -> bool:
    """Whether all measurements are correct, and far above the first time of a schedule."""
    if tried.seconds is None or any(item.outcome is not Outcome.OK for item in found):
        return False
    return _least(found) > DISTURBED * tried.seconds


def _joined(tried: Tried, found: Sequence[Measurement]) -> Measurement:
    """The fastest of correct measurements, spread over all; a failure where there is one."""
    failed = next((item for item in found if item.outcome is not Outcome.OK), None)
    if failed is not None:
        return failed
    least, most = _least(found), max(item.seconds or 0.0 for item in found)
    if tried.seconds is not None and _is_disturbed(tried, found):
        least = tried.seconds
    return Measurement(Outcome.OK, least, most - least)


def _least(found: Sequence[Measurement]) -> float:
    return min(item.seconds for item in found if item.seconds is not None)
