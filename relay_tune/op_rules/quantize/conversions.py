"""Where affine types begin and end: qnn.dequantize and qnn.quantize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import attribute
from relay_tune.op_rules.quantize.affine import Affine, affine
from relay_tune.op_rules.quantize.rule import AffineRule, Given, StoreRule, first
from relay_tune.op_rules.typed import call, constant_of


def _dequantized(call_: Call, given: Sequence[Given]) -> Affine | None:
    stored, scale, zero = call_.arguments
    return affine(stored, scale, zero, attribute(call_, "axis"))


def _stored(call_: Call, given: Sequence[Given]) -> Expr | None:
    """Integers of the wanted type, or sums rescaled to it; other bytes and words are left alone."""
    source = first(given)
    if source is None:
        return None
    _, scale, zero = call_.arguments
    dtype = attribute(call_, "out_dtype")
    wanted = affine(constant_of(np.zeros((1,), dtype)), scale, zero, 0)
    if wanted is None or not wanted.is_uniform:
        return None
    if source.same_type(wanted):
        return source.stored
    return _rescaled(source, wanted) if source.dtype == "int32" else None


def _rescaled(source: Affine, wanted: Affine) -> Expr:
    """round((stored - zero) * (scale / wanted scale)) + wanted zero, within the wanted type.

    In unsigned integers, as qnn.quantize does: bounds that begin with 0 leave the same to a NaN.
    """
    difference = source.stored
    if source.zero.any():
        zero = constant_of(source.aligned(source.zero).astype(np.int32))
        difference = call("subtract", difference, zero)
    factor = constant_of(source.aligned(source.scale / wanted.scale).astype(np.float32))
    ratio = call("round", call("multiply", call("cast", difference, dtype="float32"), factor))
    limits = np.iinfo(wanted.dtype)
    offset = wanted.zero - limits.min
    if offset.any():
        ratio = call("add", ratio, constant_of(offset.astype(np.float32)))
    bounds = (0, limits.max - limits.min)
    low, high = (constant_of(np.asarray(bound, np.float32)) for bound in bounds)
    limited = call("minimum", call("maximum", ratio, low), high)
    stored = call("cast", limited, dtype=f"uint{limits.bits}")
    if not limits.min:
        return stored
    lowest = constant_of(np.asarray(limits.min, wanted.dtype))
    return call("add", call("cast", stored, dtype=wanted.dtype), lowest)


RULES: Mapping[str, AffineRule] = {"qnn.dequantize": _dequantized}
STORES: Mapping[str, StoreRule] = {"qnn.quantize": _stored}
