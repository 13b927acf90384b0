"""Choices that keep the worst layers more exact until the loss is within a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay_tune.quantization.choose import fewest
from relay_tune.quantization.precisions import BFLOAT16, FLOAT32, INT7, Precisions
from relay_tune.tuning.precision.choice import PrecisionSpace

LEAST_SAVED = 1e-6
"""A part of the time; layers that save less are the first to stay in float32."""


def rung(
    space: PrecisionSpace,
    worst: Sequence[str],
    bound: float,
    loss: Callable[[Precisions], float],
    exact: str,
    fast: str,
) -> dict[str, str]:
    """All layers in a fast precision but the fewest of the first of `worst`, in an exact one."""

    def choice(count: int) -> dict[str, str]:
        kept = set(worst[:count])
        return {
            layer: exact if layer in kept or fast not in options else fast
            for layer, options in space.options.items()
        }

    number = fewest(len(worst), lambda count: loss(choice(count)) <= bound)
    return choice(number)


def highest_rung(
    space: PrecisionSpace,
    worst: Sequence[str],
    bound: float,
    loss: Callable[[Precisions], float],
) -> dict[str, str]:
    """The choice between the two fastest precisions of which the more exact one is enough.

    The fewest of the first of `worst` are in integers with more bits beside those with fewer, where
    a network of these is within the bound. Else they are in bfloat16 beside integers where that is,
    or in float32.
    """
    exact, fast = FLOAT32, space.integers

    def is_enough(precision: str) -> bool:
        everything = dict.fromkeys(space.options, precision)
        return precision in space.offered and loss(everything) <= bound

    if INT7 in space.offered and fast != INT7 and is_enough(fast):
        exact, fast = fast, INT7
    elif is_enough(BFLOAT16):
        exact = BFLOAT16
    return rung(space, worst, bound, loss, exact, fast)


def by_loss_for_time(alone: Mapping[str, float], saved: Mapping[str, float]) -> list[str]:
    """Layers by the square of their loss for the time that they save, the largest first.

    Losses of layers add up as the squares of independent errors do.
    """
    worth = {
        layer: (saved[layer] <= LEAST_SAVED, loss * loss / max(saved[layer], LEAST_SAVED))
        for layer, loss in alone.items()
    }
    return sorted(worth, key=lambda layer: (*(-part for part in worth[layer]), layer))
