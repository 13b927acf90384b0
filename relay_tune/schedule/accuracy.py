"""How near results have to come to those of the computation as it is written."""

from __future__ import annotations

from enum import StrEnum

from relay_tune.errors import InputError


class Accuracy(StrEnum):
    """Which algorithms may be chosen.

    Attributes:
        EXACT: those whose rounding errors are about as large as those of direct computation.
        FAST: all of them; outputs of networks stay within 1e-4 of direct computation.
    """

    EXACT = "exact"
    FAST = "fast"


INEXACT_ALGORITHMS = frozenset({"winograd4"})
"""The constants of F(4x4, 3x3) reach from 1/24 to 8: sums lose about two more bits than F(2x2, 3x3)
(B. Barabasz et al., Error analysis and improving the accuracy of Winograd convolution, 2018)."""


def is_allowed(algorithm: str, accuracy: Accuracy) -> bool:
    """Whether an algorithm, in whatever blocks ("winograd4_tiles28"), may be chosen."""
    return accuracy is Accuracy.FAST or algorithm.split("_")[0] not in INEXACT_ALGORITHMS


def parse_accuracy(text: str) -> Accuracy:
    """The accuracy that a user names. Raises InputError if there is none of that name."""
    try:
        return Accuracy(text)
    except ValueError:
        known = ", ".join(Accuracy)
        raise InputError(
            f"There is no accuracy {text!r}.", remedy=f"Write one of {known}."
        ) from None
