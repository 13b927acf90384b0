"""Kernels of operators that move elements: reshapes, transposes, broadcasts."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call
from relay_tune.op.primitive_views import RESHAPE_ONLY
from relay_tune.op_rules.fusion.rule import FusionRule, Stored
from relay_tune.op_rules.matching import RESHAPES


def _always(_: Call, __: Stored) -> bool:
    return True


def _without_gaps(_: Call, stored: Stored) -> bool:
    """Whether what a kernel stores may be permuted.

    Tiles with gaps cannot be transposed in registers to rows of neighbours: element by element, 64
    channels of 32x32 of a transposed convolution take 560 us on one core, and with a transpose of
    their own 415.
    """
    return not stored.with_gaps


def _reshape_only(_: Call) -> Mapping[str, int]:
    return {RESHAPE_ONLY: 1}


RULES: Mapping[str, FusionRule] = {
    **dict.fromkeys(
        RESHAPES,
        FusionRule(
            keeps_order=True, is_cheap=True, is_tail=_always, primitive_attributes=_reshape_only
        ),
    ),
    **dict.fromkeys(
        ("transpose", "layout_transform"), FusionRule(is_cheap=True, is_tail=_without_gaps)
    ),
    **dict.fromkeys(("broadcast_to", "broadcast_to_like"), FusionRule(is_cheap=True)),
}
