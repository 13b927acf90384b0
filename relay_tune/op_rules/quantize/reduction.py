"""Affine types through means: bytes are summed in int32, whose scale is divided by their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from relay_tune.ir.expr import Call
from relay_tune.op_rules.matching import attribute, static_shape
from relay_tune.op_rules.quantize.affine import INT32_MAX, Affine
from relay_tune.op_rules.quantize.rule import AffineRule, Given, first
from relay_tune.op_rules.typed import call


def _mean(call_: Call, given: Sequence[Given]) -> Affine | None:
    data, shape = first(given), static_shape(call_)
    source = None if data is None else static_shape(data.stored)
    if data is None or shape is None or source is None or not prod(shape):
        return None
    count = prod(source) // prod(shape)
    if not (data.is_bytes and data.is_uniform and count) or count * data.most > INT32_MAX:
        return None
    wide = call("cast", data.stored, dtype="int32")
    attributes = {name: attribute(call_, name) for name in ("axis", "keepdims", "exclude")}
    low, high = data.bounds
    return Affine(
        call("sum", wide, **attributes),
        np.asarray(data.scale / count),
        np.asarray(data.zero * count),
        0,
        (low * count, high * count),
    )


RULES: Mapping[str, AffineRule] = {"mean": _mean}
