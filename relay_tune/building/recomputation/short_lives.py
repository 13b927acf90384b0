"""An order of kernels in which results do not wait long.

    before: dy2, dy1, w1 - dw1, w2 - dw2        dy2 and the activations of layer 2 wait for the end
    after:  dy2, w2 - dw2, dy1, w1 - dw1

What gives an output runs as soon as it can: the outputs that need the fewest kernels come first,
each with what it needs.
"""

from __future__ import annotations

from relay_tune.building.recomputation.prompt_order import prompt_order
from relay_tune.building.recomputation.steps import Steps


def short_lived_order(steps: Steps) -> list[int]:
    """The steps in that of three orders in which least memory is alive, their own the first."""
    return short_lived_orders(steps)[0]


def short_lived_orders(steps: Steps) -> list[list[int]]:
    """Three orders of the steps, that in which least memory is alive first."""
    own = list(range(len(steps.steps)))
    return sorted((own, _by_outputs(steps), prompt_order(steps)), key=steps.most_alive)


def _by_outputs(steps: Steps) -> list[int]:
    needed: list[int] = []  # bit sets
    for number, step in enumerate(steps.steps):
        found = 1 << number
        for before in step.after:
            found |= needed[before]
        needed.append(found)
    read = {before for step in steps.steps for before in step.after}
    ends = [number for number in range(len(steps.steps)) if number not in read]
    ordered: dict[int, None] = {}
    for end in sorted(ends, key=lambda number: (needed[number].bit_count(), number)):
        _add_with_needed(end, steps, ordered)
    return list(ordered)


def _add_with_needed(end: int, steps: Steps, ordered: dict[int, None]) -> None:
    """Add a step behind those that it needs and that are not there."""
    waiting = [end]
    while waiting:
        missing = [each for each in steps.steps[waiting[-1]].after if each not in ordered]
        if missing:
            waiting += sorted(missing, reverse=True)
            continue
        ordered[waiting.pop()] = None
