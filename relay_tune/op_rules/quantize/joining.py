"""Affine types through concatenation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.ir.expr import Call
from relay_tune.op_rules.quantize.affine import Affine
from relay_tune.op_rules.quantize.rule import AffineRule, Given
from relay_tune.op_rules.typed import recall, tuple_of


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


RULES: Mapping[str, AffineRule] = {"concatenate": _concatenate}
