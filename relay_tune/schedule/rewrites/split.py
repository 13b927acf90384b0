"""Long sums over weights in parts, each with a shorter panel of weights.

    before:  y[i, o] = sum(k) x[i, k] * w[k, o]
    after:   p[b, i, o] = sum(k') x[i, b * K' + k'] * w[b * K' + k', o]
             y[i, o] = p[0, i, o] + p[1, i, o] + ..

The panel of weights that a register tile reads is as long as the sum. Several tiles share it, while
the next one is fetched: both should have room in the second cache. This is the blocking of the
inner dimension of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM
TOMS 2008), as a program of ordinary stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce as fold
from math import prod
from operator import add

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters, parameter
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.tensor.deferred_array import ConstantData
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Axis, Reduce, Scalar, Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.tensor.walk import loads, substitute

LEAST_STEPS = 2048
"""Shorter sums have panels of two vectors that fit the second cache twice."""

LEAST_USES = 8
"""How often each weight is used; a panel that a single tile reads needs no room in a cache."""

LEAST_PART = 32
"""Steps along the axis that is split; fewer would be mostly the beginning and end of loops."""


@dataclass(frozen=True, slots=True)
class Parts(Parameters):
    """Parameters of split.

    Attributes:
        parts: of each long sum; 2 were never faster than 4.
    """

    parts: int = parameter(among=(4,))


def _offers(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    known = dict[Tensor, ConstantData](program.constants)
    if any(_split_axis(stage, 4, known) for stage in tensors_in_order(program.outputs)):
        yield Parts(4)


def split_program(program: TensorProgram, parameters: Parts) -> TensorProgram | None:
    """The program with its long sums over constants in parts; None if it has none."""
    parts = parameters.parts

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        axis = _split_axis(stage, parts, rewriting.constants)
        return None if axis is None else _in_parts(rewriting.rebuilt(stage), axis, parts)

    return with_rewritten_stages(program, rewrite)


def _split_axis(tensor: Tensor, parts: int, known: Mapping[Tensor, ConstantData]) -> Axis | None:
    """The axis of a long sum to split, its longest; its parts must be fewer than its weights.

    So no sum whose extents are open has one.
    """
    if not isinstance(tensor, Computed) or not isinstance(tensor.body, Reduce):
        return None
    body = tensor.body
    if body.operation != "sum" or not body.dtype.startswith("float"):
        return None
    if any(map(is_symbolic, (*tensor.shape, *(axis.extent for axis in body.axes)))):
        return None
    weights = max((known[x.tensor].size for x in loads(body.body) if x.tensor in known), default=0)
    axis = max(body.axes, key=lambda axis: axis.extent)
    results, steps = prod(tensor.shape), prod(axis.extent for axis in body.axes)
    if parts * results > weights or results * steps < LEAST_USES * weights:
        return None
    if steps < LEAST_STEPS or axis.extent % parts or axis.extent // parts < LEAST_PART:
        return None
    return axis


def _in_parts(tensor: Computed, axis: Axis, parts: int) -> Computed:
    """The tensor as the sum of its parts."""
    total = tensor.body
    assert isinstance(total, Reduce)

    def part(number: Scalar, *at: Scalar) -> Scalar:
        inner = {old: Axis(old.name, old.extent) for old in total.axes}
        inner[axis] = Axis(axis.name, axis.extent // parts)
        indices: dict[Axis, Scalar] = {**inner, **dict(zip(tensor.axes, at, strict=True))}
        indices[axis] = number * inner[axis].extent + inner[axis]
        return replace(
            total,
            axes=tuple(inner[old] for old in total.axes),
            body=substitute(total.body, indices),
        )

    partial = compute(f"{tensor.name}_parts", (parts, *tensor.shape), part)
    return compute(
        tensor.name,
        tensor.shape,
        lambda *at: fold(add, (partial[(number, *at)] for number in range(parts))),
    )


SPLIT = Algorithm("split", _offers, Parts, rewritten=split_program, saving=1.0)
"""Long sums over weights, in parts."""
