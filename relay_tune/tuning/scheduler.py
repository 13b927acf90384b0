"""Which task gets the next candidates: the one where they save most of the model's time.

A task without gain for some rounds rests until the others do, too; then its search begins anew, and
has more patience. So a run uses its time while there is something to gain.

The expected saving of a round is the task's time in the model, times its room up to the machine's
limit, times a rate of improvement: what the last rounds gained, and hope that fades with the rounds
that were spent. Compare the gradient of the objective in Zheng et al., "Ansor: Generating
High-Performance Tensor Programs for Deep Learning", OSDI 2020, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.tuning.task_state import TaskState

LIMIT_SHARE = 0.97
"""A task so close to what the machine can reach is done."""

NEGLIGIBLE_SHARE = 0.003
"""A task below this share of the model's time is not worth a candidate."""

MOST_PATIENCE = 16
"""So many rounds without `WORTHWHILE` gain end a task. One that rests begins with a fourth."""

WORTHWHILE = 0.005
"""A gain that is worth a round, as a share of the time."""

HOPE = 0.25
"""The share of a task's time that its first round is expected to save; later ones save less."""

RECENT_ROUNDS = 2
"""Rounds whose gain predicts that of the next."""

FAILING_ROUNDS = 3
"""So many rounds in which nothing ran correctly end a task."""


def next_task(states: Sequence[TaskState], but: TaskState | None = None) -> TaskState | None:
    """The task to spend the next round on, or None if no task is worth one.

    `states` are all of a model's tasks; `but` is taken only if no other is worth a round.
    """
    total = sum(state.model_seconds for state in states)
    open_states = [
        state
        for state in states
        if not state.finished and not state.resting and not is_negligible(state, total)
    ]
    others = [state for state in open_states if state is not but]
    return max(others or open_states, key=expected_saving, default=None)


def is_negligible(state: TaskState, total: float) -> bool:
    """Whether a measured task is too small a part of the model's time."""
    return state.best_seconds is not None and state.model_seconds < NEGLIGIBLE_SHARE * total


def expected_saving(state: TaskState) -> float:
    """Seconds of the model's time that another round of a task may save."""
    if state.best_seconds is None:
        return 0.0  # nothing ran so far; after the tasks that did
    share = state.limit_share
    room = 1.0 if share is None else max(0.0, 1.0 - share)
    rate = _recent_gain(state) / RECENT_ROUNDS + HOPE / (1 + len(state.rounds))
    return state.model_seconds * room * rate


def _recent_gain(state: TaskState) -> float:
    """By what share the time fell in the last rounds."""
    known = [seconds for seconds in state.rounds if seconds is not None]
    if len(known) < 2:
        return 0.0
    before = known[max(0, len(known) - 1 - RECENT_ROUNDS)]
    return max(0.0, 1.0 - known[-1] / before)


def reason_to_finish(state: TaskState) -> str:
    """Why a task needs no more rounds, in words; empty if it does."""
    share = state.limit_share
    if share is not None and share >= LIMIT_SHARE:
        return f"at {share:.0%} of what the machine can reach"
    if state.best_seconds is None:
        has_failed = state.outcomes and len(state.rounds) >= FAILING_ROUNDS
        return "every candidate failed" if has_failed else ""
    if state.patience >= MOST_PATIENCE and has_stalled(state):
        return f"no gain in {state.patience} rounds"
    return ""


def has_stalled(state: TaskState) -> bool:
    """Whether as many rounds as the patience with a task lasts have gained nothing."""
    known = [seconds for seconds in state.rounds if seconds is not None]
    patience = state.patience
    return len(known) > patience and known[-1] > known[-1 - patience] * (1 - WORTHWHILE)


def wake(states: Sequence[TaskState], seed: int) -> bool:
    """Let the tasks that rest go on, each with a new search and more patience; False without any.

    One that has become negligible goes on resting.
    """
    total = sum(state.model_seconds for state in states)
    resting = [state for state in states if state.resting and not is_negligible(state, total)]
    for state in resting:
        state.resting = False
        state.patience *= 2
        state.begin_anew(seed + state.patience)
    return bool(resting)
