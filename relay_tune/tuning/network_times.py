"""The times of a whole network, untuned and tuned."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.median_interval import median_interval


@dataclass(frozen=True, slots=True)
class NetworkTimes:
    """One run of the whole network with default and with tuned schedules, timed in turns.

    Attributes:
        untuned: median seconds with default schedules.
        tuned: median seconds with those that were kept.
        ratio: the untuned time by the tuned one, the median over the turns; 1 where all default
            schedules stay.
        interval: the ratio lies in it with a probability of at least 0.9; None where there is
            nothing to compare.
    """

    untuned: float
    tuned: float
    ratio: float
    interval: tuple[float, float] | None = None

    @staticmethod
    def of(untuned: float, tuned: float, ratios: Sequence[float]) -> NetworkTimes:
        """The times of a comparison with these ratios, turn by turn."""
        return NetworkTimes(untuned, tuned, median(ratios or [1.0]), median_interval(ratios))

    @property
    def is_gain(self) -> bool:
        """Whether the turns show that tuning made the network faster."""
        return self.interval is not None and self.interval[0] > 1.0


def read_times(value: object) -> NetworkTimes | None:
    """Times from JSON values, as a log has them; None where these are not such times."""
    match value:
        case {
            "untuned": int() | float() as untuned,
            "tuned": int() | float() as tuned,
            "ratio": int() | float() as ratio,
            "interval": interval,
        } if all(map(_is_positive, (untuned, tuned, ratio))):
            return NetworkTimes(float(untuned), float(tuned), float(ratio), _interval(interval))
    return None


def _interval(value: object) -> tuple[float, float] | None:
    match value:
        case [int() | float() as low, int() | float() as high] if _is_positive(low) and low <= high:
            return float(low), float(high)
    return None


def _is_positive(value: float) -> bool:
    """Whether a number is a time, or a ratio of times, that can be."""
    return 1e-12 < value < 1e12
