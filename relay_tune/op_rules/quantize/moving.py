"""Affine types through operators that move elements: stored ones are moved instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relay_tune.ir.expr import Call
from relay_tune.op_rules.matching import RESHAPES, transpose_axes
from relay_tune.op_rules.quantize.affine import Affine
from relay_tune.op_rules.quantize.rule import AffineRule, Given, first
from relay_tune.op_rules.typed import recall, tuple_of


def moved(call_: Call, given: Sequence[Given]) -> Affine | None:
    """The same call on what is stored, where all elements have the same scale."""
    data = first(given)
    if data is None or not data.is_uniform or data.dtype == "int32":
        return None
    return data.like(recall(call_, (data.stored, *call_.arguments[1:])))


def _transpose(call_: Call, given: Sequence[Given]) -> Affine | None:
    data = first(given)
    if data is None or data.dtype == "int32":
        return None
    stored = recall(call_, (data.stored,))
    axis = 0 if data.is_uniform else transpose_axes(call_).index(data.axis)
    return replace(data, stored=stored, axis=axis)


def _concatenate(call_: Call, given: Sequence[Given]) -> Affine | None:
    """Tensors of one type."""
    (fields,) = given
    if not isinstance(fields, Sequence):
        return None
    parts = [part for part in fields if isinstance(part, Affine)]
    if not parts or len(parts) != len(fields):
        return None
    if parts[0].dtype == "int32" or not all(parts[0].same_type(part) for part in parts):
        return None
    return parts[0].like(recall(call_, (tuple_of([part.stored for part in parts]),)))


RULES: Mapping[str, AffineRule] = {
    **dict.fromkeys((*RESHAPES, "broadcast_to", "tile", "repeat", "reverse", "copy"), moved),
    "transpose": _transpose,
    **dict.fromkeys(("strided_slice", "take"), moved),
    "concatenate": _concatenate,
}
