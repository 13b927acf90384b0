"""Affine types through slices and lookups."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.op_rules.quantize.rule import AffineRule
from relay_tune.op_rules.quantize.shape import moved

RULES: Mapping[str, AffineRule] = dict.fromkeys(("strided_slice", "take"), moved)
