"""Choices that leave the worst layers in floats until the loss is within a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay_tune.quantization.choose import fewest
from relay_tune.quantization.options import INT8
from relay_tune.tuning.precision.choice import Precisions, PrecisionSpace

LEAST_SAVED = 1e-6
"""A part of the time; layers that save less are the first to stay in float32."""


def rung(
    space: PrecisionSpace,
    worst: Sequence[str],
    bound: float,
    loss: Callable[[Precisions], float],
    floats: str,
) -> dict[str, str]:
    """All layers in integers but the fewest of the first of `worst`, which are `floats`."""

    def choice(count: int) -> dict[str, str]:
        return _without(space, worst[:count], floats)

    number = fewest(len(worst), lambda count: loss(choice(count)) <= bound)
    return choice(number)


def by_loss_for_time(alone: Mapping[str, float], saved: Mapping[str, float]) -> list[str]:
    """Layers by the square of their loss for the time that they save, the largest first.

    Losses of layers add up as the squares of independent errors do.
    """
    worth = {
        layer: (saved[layer] <= LEAST_SAVED, loss * loss / max(saved[layer], LEAST_SAVED))
        for layer, loss in alone.items()
    }
    return sorted(worth, key=lambda layer: (*(-part for part in worth[layer]), layer))


def _without(space: PrecisionSpace, layers: Sequence[str], floats: str) -> dict[str, str]:
    left = set(layers)
    return {
        layer: floats if layer in left or INT8 not in options else INT8
        for layer, options in space.options.items()
    }
