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


INEXACT_ALGORITHMS = frozenset({"winograd4", "bf16x3", "strassen"})
"""Two bfloat16 parts of each factor leave out 2^-17 of a product.

The constants of F(4x4, 3x3) reach from 1/24 to 8: sums lose about two more bits than F(2x2, 3x3)
(B. Barabasz et al., Error analysis and improving the accuracy of Winograd convolution, 2018)."""


EXACT_STAND_INS = {"bf16x6": "bf16x3"}
"""Algorithms with an inexact one beside them that takes half the time."""

LARGE_PRODUCTS = 32_000_000
"""Multiplications from which on a product is worth the rounding of an inexact algorithm.

Those of small products would add up in networks of many: all of mobilenet_v2's with three products
of bfloat16 moved its outputs by 2e-4, those of resnet50 and bert_base, which are large, by 2e-5 and
4e-5.
"""


def is_offered(algorithm: str, accuracy: Accuracy, multiplications: int) -> bool:
    """Whether an algorithm, in whatever form, is worth a look under an accuracy.

    `multiplications` are those of the products that matrix registers can compute.
    """
    if not is_allowed(algorithm, accuracy):
        return False
    name = algorithm.split("_")[0]
    may_be_inexact = accuracy is Accuracy.FAST and multiplications >= LARGE_PRODUCTS
    if name in EXACT_STAND_INS:
        return not may_be_inexact
    return name not in EXACT_STAND_INS.values() or may_be_inexact


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
