"""The cheapest sequence of steps whose plan of memory is within a limit.

What is alive at a time is not all that a plan takes: tensors leave gaps. So the steps get the room
of the limit first, and less where their plan is larger, until no sequence is found.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.building.recomputation.repeated_steps import repeated_steps
from relay_tune.building.recomputation.short_lives import short_lived_order, short_lived_orders
from relay_tune.building.recomputation.steps import Steps
from relay_tune.runtime.memory_plan import plan_memory

ATTEMPTS = 8
"""Rooms that are tried one after the other, each smaller by a part of what was too much."""

FEW_ATTEMPTS = 2
"""Those of each limit where the least one is looked for."""

PRECISION = 0.01
"""The least limit is found to within this part of it."""


def sequence_within(steps: Steps, limit: int) -> list[int] | None:
    """The steps as they run, some several times; None where no plan within the limit was found.

    What fits in one order may not in another, or with more repetitions.
    """
    own = list(range(len(steps.steps)))
    if planned_bytes(steps, own, limit) <= limit:
        return own
    found: list[list[int]] = []
    for order in short_lived_orders(steps):
        sequence = _repeating(steps, order, limit)
        if sequence is not None:
            found.append(sequence)
            if len(sequence) == len(own):
                break
    return min(found, key=steps.cost, default=None)


def planned_bytes(steps: Steps, sequence: Sequence[int], limit: int | None = None) -> int:
    """The bytes of the plan of a sequence."""
    return plan_memory(steps.lifetimes(sequence), limit).total


def least_limit(steps: Steps) -> int:
    """The least limit for which a sequence was found, which is found for it again.

    With less room other steps are repeated, and their plan may be larger: what a plan takes is the
    limit only if it has room for one.
    """
    order = short_lived_order(steps)
    low, least = steps.most_at_once - 1, planned_bytes(steps, order, 0)
    while least - low > 1 + PRECISION * least:
        middle = (low + least) // 2
        found = _repeating(steps, order, middle, FEW_ATTEMPTS)
        if found is None:
            low = middle
            continue
        planned = planned_bytes(steps, found, middle)
        again = _repeating(steps, order, planned, FEW_ATTEMPTS)
        least = middle if again is None else planned
    return least


def _repeating(
    steps: Steps, order: Sequence[int], limit: int, attempts: int = ATTEMPTS
) -> list[int] | None:
    """The cheapest of the sequences that were found with less and less room."""
    best: list[int] | None = None
    room = limit
    for _ in range(attempts):
        sequence = repeated_steps(steps, order, room)
        if sequence is None:
            break
        planned = planned_bytes(steps, sequence, limit)
        if planned <= limit and (best is None or steps.cost(sequence) < steps.cost(best)):
            best = sequence
        if planned <= limit:
            break
        room = min(room - (planned - limit) // 2, room - room // 100)
    return best
