"""Forward mode over tensors: how outputs change with given changes of inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from relay_tune.tensor.derivative.adjoints import varying
from relay_tune.tensor.derivative.points import Points, points_of
from relay_tune.tensor.derivative.scalar_tangents import scalar_tangent
from relay_tune.tensor.derivative.scatter import Scattered, scattered
from relay_tune.tensor.expression import Axis, Reduce, Scalar, Tensor, cast, literal, reduce
from relay_tune.tensor.index import simplify
from relay_tune.tensor.tensor import Computed, compute


def tangents(
    outputs: Sequence[Tensor],
    given_tangents: Mapping[Tensor, Tensor],
    given: Collection[Tensor] = (),
) -> list[Tensor]:
    """The changes of outputs of floats, for changes of some tensors that they are computed from.

    Of the shapes and types of the outputs. `given` are tensors that do not change else. Raises
    UnderivableError where there are none.
    """
    changes: dict[Tensor, Tensor] = dict(given_tangents)
    for tensor in varying(tuple(given_tangents), outputs, given):
        if tensor not in changes:
            change = _tangent(tensor, changes)
            if change is not None:
                changes[tensor] = change
    return [_finished(output, changes.get(output)) for output in outputs]


def _finished(output: Tensor, change: Tensor | None) -> Tensor:
    name = f"{output.name}_tangent"
    if change is None:
        return compute(name, output.shape, lambda *_: literal(0.0, output.dtype))
    if change.dtype == output.dtype:
        return change
    return compute(name, output.shape, lambda *axes: cast(change[axes], output.dtype))


def _tangent(tensor: Tensor, changes: Mapping[Tensor, Tensor]) -> Tensor | None:
    found = [(each, scalar_tangent(each.body, changes)) for each in points_of(tensor)]
    known = [(points, change) for points, change in found if change is not None]
    if not known:
        return None
    if isinstance(tensor, Scattered):
        return _scattered(tensor, changes)
    assert isinstance(tensor, Computed)
    ((points, change),) = known
    return _computed(tensor, points, change)


def _computed(tensor: Computed, points: Points, change: Scalar) -> Tensor:
    summed = tensor.body.axes if isinstance(tensor.body, Reduce) else ()

    def element(*indices: Scalar) -> Scalar:
        fresh = [Axis(axis.name, axis.extent) for axis in summed]
        named = dict(zip(tensor.axes + summed, (*indices, *fresh), strict=True))
        return reduce("sum", fresh, simplify(points.weighed(change), named))

    return compute(f"{tensor.name}_tangent", tensor.shape, element)


def _scattered(tensor: Scattered, changes: Mapping[Tensor, Tensor]) -> Tensor:
    values = {guard: scalar_tangent(value, changes) for guard, value in tensor.values}
    return scattered(
        f"{tensor.name}_tangent",
        tensor.shape,
        tensor.points,
        tensor.places,
        {guard: value for guard, value in values.items() if value is not None},
    )
