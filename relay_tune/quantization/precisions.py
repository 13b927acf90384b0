"""What layers can be computed in, and which layer is computed in what.

A further precision is a name here, what builds it (`calibrated`), and what tells its loss
(`simulation`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

FLOAT32, BFLOAT16 = "float32", "bfloat16"

INT8, INT7 = "int8", "int7"
"""Data of 8 bits and sums of 32; the number says how many bits weights have."""

MOST_EXACT_FIRST = (FLOAT32, BFLOAT16, INT8, INT7)

WEIGHT_BITS: Mapping[str, int] = {INT8: 8, INT7: 7}
"""The precisions in integers."""

Precisions: TypeAlias = Mapping[str, str]
"""The precision of layers, by the name of the layer; those that are not named are in float32."""


def layers_in(precisions: Precisions, *wanted: str) -> list[str]:
    """The layers with one of some precisions, in order."""
    return [layer for layer, each in precisions.items() if each in wanted]


def stored_alike(precision: str) -> str:
    """The first of the precisions whose data are stored in the same way.

    Between layers of these nothing is converted.
    """
    return INT8 if precision in WEIGHT_BITS else precision
