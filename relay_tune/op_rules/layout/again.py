"""Values that are computed twice: they are there, in each version that there is."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.op_rules.layout.rule import LayoutRule
from relay_tune.op_rules.layout.versions import Version, Versions
from relay_tune.op_rules.typed import recall, tuple_of


def again(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """Each version of the data, after any version of what it waits for."""
    data, after = call_.arguments
    if isinstance(data, Tuple):
        return None
    if versions.was_flattened(data):
        versions.unflattened[call_] = versions.unflattened[data]
    known = _any_version(after, versions)
    return {
        version: recall(call_, (each, known)) for version, each in versions.existing[data].items()
    }


def _any_version(node: Expr, versions: Versions) -> Expr:
    if isinstance(node, Tuple):
        return tuple_of([_any_version(field, versions) for field in node.fields])
    return next(iter(versions.existing[node].values()))


RULES: Mapping[str, LayoutRule] = {"again": LayoutRule(again)}
