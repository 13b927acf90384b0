"""Tensors between the nests of a group that lie where the nest that reads them last writes.

    before:  e'[i] = exp(x[n, i])             after:  y[n, i] = exp(x[n, i])
             s' = sum(i) e'[i]                        s' = sum(i) y[n, i]
             y[n, i] = e'[i] / s'                     y[n, i] = y[n, i] / s'

Each block then touches less memory, and the lines of the result are fetched while the first nest
computes, which often has more arithmetic to hide that than the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from relay_tune.schedule.nests.nest import Nest, with_roots
from relay_tune.schedule.row_groups.groups import Member, RowGroup
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Load, Scalar, Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.walk import loads, replace_nodes


def in_place(group: RowGroup) -> RowGroup:
    """The group with its local tensors in the place of what overwrites them, where one can."""
    for tensor in group.local:
        target = _target_of(tensor, [member.nest for member in group.members])
        if target is not None:
            members = tuple(_moved(member, tensor, target) for member in group.members)
            local = tuple(other for other in group.local if other is not tensor)
            group = replace(group, members=members, local=local)
    return group


def _target_of(tensor: Tensor, nests: Sequence[Nest]) -> Tensor | None:
    """What the last reader of a local tensor writes, if that can hold the tensor until then.

    The reader must read each element where it writes, and nobody else write there.
    """
    last = max((n for n, nest in enumerate(nests) if _loads_of(nest, tensor)), default=None)
    if last is None or nests[last].body is not None:
        return None
    reader = nests[last]
    target, stored = reader.target, axis_affine(reader.index)
    sizes = {prod(t.shape) for t in (tensor, target)} | {prod(a.extent for a in reader.axes)}
    if len(sizes) > 1 or target.dtype != tensor.dtype:
        return None
    if stored is None or sum(nest.target is target for nest in nests) > 1:
        return None
    read = [axis_affine(load.indices[0]) for load in _loads_of(reader, tensor)]
    return target if all(form == stored for form in read) else None


def _loads_of(nest: Nest, tensor: Tensor) -> list[Load]:
    return [
        load
        for root in nest.roots
        for load in loads(root)
        if isinstance(load.tensor, FlatView) and load.tensor.viewed is tensor
    ]


def _moved(member: Member, tensor: Tensor, target: Tensor) -> Member:
    """A member that reads and writes a tensor in another's memory."""
    nest = member.nest
    own: dict[Scalar, Scalar] = {
        load: Load(target, load.indices, dtype=load.dtype) for load in _loads_of(nest, tensor)
    }
    roots = [replace_nodes(root, own) for root in nest.roots]
    nest = with_roots(nest, roots, nest.axes, nest.reduction)
    if isinstance(nest.target, FlatView) and nest.target.viewed is tensor:
        nest = replace(nest, target=target)
    return replace(member, nest=nest)
