"""Inputs that are indices, and how many elements there are to choose from."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.indices.sources import source_of
from relay_tune.op_rules.indices.uses import index_uses
from relay_tune.transform.check_indices import argument_at, index_sizes


def choices_of_inputs(typed: Module) -> dict[str, int]:
    """For each input of main that is used as indices the size of the smallest axis, if known."""
    inputs = set(typed.main.params)
    found: dict[str, int] = {}
    for node in post_order(typed.main.body):
        if not isinstance(node, Call):
            continue
        for use in index_uses(node):
            indices, axis = argument_at(node, use.indices), use.coordinates
            while (source := source_of(indices, axis)) is not None:
                indices, axis = source
            sizes = index_sizes(argument_at(node, use.data), use)
            if isinstance(indices, Var) and indices in inputs and min(sizes) >= 0:
                found[indices.name] = min(found.get(indices.name, min(sizes)), *sizes)
    return found
