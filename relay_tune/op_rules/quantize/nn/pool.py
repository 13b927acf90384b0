"""Affine types through pools: a maximum keeps what is stored."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.op_rules.quantize.rule import AffineRule
from relay_tune.op_rules.quantize.shape import moved

_MAXIMA = (
    *("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"),
    *("nn.global_max_pool1d", "nn.global_max_pool2d", "nn.global_max_pool3d"),
)

RULES: Mapping[str, AffineRule] = dict.fromkeys(_MAXIMA, moved)
