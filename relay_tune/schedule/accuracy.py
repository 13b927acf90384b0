"""How near results have to come to those of direct sums, and what algorithms say of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType

from relay_tune.errors import InputError
from relay_tune.quick_dataclass import dataclass


class Accuracy(StrEnum):
    """Which algorithms may be chosen; each level allows those of the ones before it.

    Attributes:
        EXACT: those that round as direct sums in float32 do, and depend on the same values.
        FAST: also those with results within 1e-5 of the largest of their row or tile. A result
            depends on no value that it does not depend on mathematically, save on those in its tile
            of a Winograd convolution, which is part of one sample.
        RELAXED: all of them; factors, and what kernels leave for them, may be rounded to bfloat16,
            or to bytes beside weights that are stored in few bits, and the values of a sample may
            cost others digits, or all digits if they are infinite or NaN.
    """

    EXACT = "exact"
    FAST = "fast"
    RELAXED = "relaxed"


class Mixing(IntEnum):
    """Which values a result depends on beside those that it depends on mathematically.

    Attributes:
        NOTHING: none.
        TILE: those that the other results of its tile of a Winograd convolution depend on.
        SAMPLES: any, those of other samples too.
    """

    NOTHING = 0
    TILE = 1
    SAMPLES = 2


class Rounding(IntEnum):
    """How large rounding errors are.

    Attributes:
        OF_SUMS: as those of direct sums in float32.
        MORE: somewhat larger.
        OF_FACTORS: as of products whose factors have fewer digits than the program says.
    """

    OF_SUMS = 0
    MORE = 1
    OF_FACTORS = 2


@dataclass(frozen=True, slots=True)
class Exactness:
    """What an algorithm keeps of direct sums.

    Attributes:
        mixing: which values a result depends on beside its own.
        rounding: how large rounding errors are.
    """

    mixing: Mixing = Mixing.NOTHING
    rounding: Rounding = Rounding.OF_SUMS


_LIMITS: Mapping[Accuracy, Exactness] = MappingProxyType(
    {
        Accuracy.EXACT: Exactness(),
        Accuracy.FAST: Exactness(Mixing.TILE, Rounding.MORE),
        Accuracy.RELAXED: Exactness(Mixing.SAMPLES, Rounding.OF_FACTORS),
    }
)
"""What each level allows at most."""


_DECISIVE = Exactness(Mixing.TILE, Rounding.OF_SUMS)
"""What `fast` allows where roundings decide conditions of derivatives."""


def is_allowed(exactness: Exactness, accuracy: Accuracy, *, is_decisive: bool = False) -> bool:
    """Whether an algorithm of this exactness may be chosen.

    `is_decisive` is a program on whose roundings conditions of derivatives depend.
    """
    is_strict = is_decisive and accuracy is Accuracy.FAST
    limit = _DECISIVE if is_strict else _LIMITS[accuracy]
    return exactness.mixing <= limit.mixing and exactness.rounding <= limit.rounding


def least_accuracy(exactness: Exactness) -> Accuracy:
    """The strictest level that allows an exactness."""
    return next(accuracy for accuracy in Accuracy if is_allowed(exactness, accuracy))


def parse_accuracy(text: str) -> Accuracy:
    """The accuracy that a user names. Raises InputError if there is none of that name."""
    try:
        return Accuracy(text)
    except ValueError:
        known = ", ".join(Accuracy)
        raise InputError(
            f"There is no accuracy {text!r}.", remedy=f"Write one of {known}."
        ) from None
