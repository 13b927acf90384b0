"""How far outputs are from those of float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log10
from typing import Any, TypeAlias

import numpy as np

from relay_tune.errors import InputError

Outputs: TypeAlias = Sequence[np.ndarray]
"""All outputs of a call."""

Loss: TypeAlias = Callable[[Outputs, Outputs], float]
"""loss(outputs of float32, outputs to judge) of a sample: 0 is no loss."""


def output_error(expected: Outputs, found: Outputs) -> float:
    """The largest error of an output.

    Of floats the root mean square of differences as a part of that of the values, where these are
    finite; of other types the part of elements that differ.
    """
    pairs = zip(expected, found, strict=True)
    return max((_error(one, other) for one, other in pairs), default=0.0)


def decibels(loss: float) -> float:
    """A part of a signal's magnitude as signal to noise ratio in dB."""
    return inf if loss == 0 else -20 * log10(loss) if loss < inf else -inf


def mean_loss(loss: Loss, expected: Sequence[Outputs], found: Sequence[Outputs]) -> float:
    """The mean over samples; InputError where a user's function gives no numbers."""
    each = [_number(loss(one, other)) for one, other in zip(expected, found, strict=True)]
    return float(np.mean(each)) if each else 0.0


def _number(loss: Any) -> float:
    try:
        return float(loss)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The loss of a sample is {loss!r}, but must be a number.",
            remedy="Have loss(outputs of float32, outputs) return one, 0 for no loss.",
        ) from error


def _error(expected: np.ndarray, found: np.ndarray) -> float:
    if expected.dtype.kind in "biu":
        return float((expected != found).mean()) if expected.size else 0.0
    one, other = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(one)
    if not np.array_equal(finite, np.isfinite(other)):
        return inf
    difference, signal = (one - other)[finite], one[finite]
    noise = float(np.sqrt((difference * difference).sum()))
    magnitude = float(np.sqrt((signal * signal).sum()))
    if noise == 0:
        return 0.0
    return noise / magnitude if magnitude else inf
