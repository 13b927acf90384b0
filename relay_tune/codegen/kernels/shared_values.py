"""What the value of an expression depends on: which of them are the same without a look inside.

    y[0, j] = t0[j] + t1[j];  y[1, j] = t0[j] - t1[j]        t0[j], t1[j]: sums of many loads

Written-out statements have such expressions in common. Without loop axes that have changed, or
buffers that were written meanwhile, their instructions would all be found written already.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field
from typing import TypeVar

from relay_tune.codegen.kernels.index_writer import IndexWriter
from relay_tune.codegen.kernels.load_writer import LoadWriter
from relay_tune.codegen.kernels.vector_lanes import VectorLanes
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Axis, Load, Scalar, Tensor
from relay_tune.tensor.loops import LaneReduce
from relay_tune.tensor.walk import operands

Item = TypeVar("Item")

NO_AXES: frozenset[Axis] = frozenset()
NO_TENSORS: frozenset[Tensor] = frozenset()

LEAST_NODES = 8
"""Smaller expressions take less time to write again than to tell apart."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What an expression reads; `nodes` counts those that it shares as often as it has them."""

    axes: frozenset[Axis]
    tensors: frozenset[Tensor]
    nodes: int


@dataclass(slots=True)
class SharedValues:
    """Finds keys of values: equal where all that an expression depends on is."""

    lanes: VectorLanes
    indices: IndexWriter
    loads: LoadWriter
    _needs: dict[Scalar, Needs | None] = field(default_factory=dict)
    _ordered: dict[Scalar, tuple[tuple[Axis, ...], tuple[Tensor, ...]] | None] = field(
        default_factory=dict
    )

    def key(self, expression: Scalar) -> tuple[Hashable, ...] | None:
        """The key of the present value; None where to look for it is not worth it."""
        if expression not in self._ordered:
            self._ordered[expression] = self._worth_it(expression)
        found = self._ordered[expression]
        if found is None:
            return None
        axes, tensors = found
        vector = self.lanes.vector
        key: list[Hashable] = [expression, vector.lanes, vector.active, vector.mask]
        for axis in axes:
            form = self.indices.environment.get(axis)
            if form is None:
                return None
            key.append(form.constant)
            key += form.terms.items()
        for tensor in tensors:
            if tensor in self.loads.registers:
                return None
            key.append(self.loads.versions.get(tensor, 0))
        return tuple(key)

    def _worth_it(self, expression: Scalar) -> tuple[tuple[Axis, ...], tuple[Tensor, ...]] | None:
        found = None if expression.dtype == INDEX else self._needed(expression)
        if found is None or found.nodes < LEAST_NODES:
            return None
        return tuple(found.axes), tuple(found.tensors)

    def _needed(self, expression: Scalar) -> Needs | None:
        """What an expression reads; None where it has loops of its own."""
        if expression not in self._needs:
            self._needs[expression] = self._newly_needed(expression)
        return self._needs[expression]

    def _newly_needed(self, expression: Scalar) -> Needs | None:
        if isinstance(expression, LaneReduce):
            return None
        axes = frozenset({expression}) if isinstance(expression, Axis) else NO_AXES
        tensors = frozenset({expression.tensor}) if isinstance(expression, Load) else NO_TENSORS
        nodes = 1
        for operand in operands(expression):
            inner = self._needed(operand)
            if inner is None:
                return None
            axes, tensors = _union(axes, inner.axes), _union(tensors, inner.tensors)
            nodes += inner.nodes
        return Needs(axes, tensors, nodes)


def _union(one: frozenset[Item], other: frozenset[Item]) -> frozenset[Item]:
    """Both sets; one of them where that is all, so that few are made for many expressions."""
    if other <= one:
        return one
    return other if one <= other else one | other
