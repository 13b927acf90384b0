"""Reverse mode over tensors: the adjoint of a tensor, given those of what is computed from it.

Tensors are passed backwards. Each one adds to the adjoints of the tensors that it loads, and has
its own complete when its turn comes. The results are ordinary tensors, so that they have
derivatives themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from relay_tune.tensor.dependencies import dependencies
from relay_tune.tensor.derivative.gather import Contribution, as_tensor, contribution
from relay_tune.tensor.derivative.points import points_of
from relay_tune.tensor.derivative.scalar_adjoints import load_adjoints
from relay_tune.tensor.derivative.slopes import change_dtype
from relay_tune.tensor.expression import Scalar, Tensor, cast
from relay_tune.tensor.scalar_semantics import is_float
from relay_tune.tensor.tensor import compute


def adjoints(
    outputs: Sequence[Tensor],
    output_adjoints: Sequence[Tensor | None],
    wanted: Tensor,
    given: Collection[Tensor] = (),
) -> Tensor:
    """The adjoint of `wanted`: of its shape and element type.

    `output_adjoints` are those of the outputs, of their shapes and types; None is zero. `given` are
    tensors that do not depend on `wanted`, whatever they are computed from. Raises
    UnderivableError where there is none.
    """
    order = varying((wanted,), outputs, given)
    active = frozenset(order)
    parts: dict[Tensor, list[Contribution]] = {tensor: [] for tensor in order}
    for output, adjoint in zip(outputs, output_adjoints, strict=True):
        if output in parts and adjoint is not None:
            parts[output].append(_read(adjoint))
    for tensor in reversed(order):
        if tensor is wanted or not parts[tensor]:
            continue
        own = as_tensor(
            f"{tensor.name}_adjoint", tensor.shape, change_dtype(tensor.dtype), parts[tensor]
        )
        for points in points_of(tensor):
            found = load_adjoints(points.body, points.seed(own), active.__contains__)
            for load, values in found.items():
                parts[load.tensor].append(contribution(points.axes, load, values))
    name, dtype = f"{wanted.name}_adjoint", change_dtype(wanted.dtype)
    whole = as_tensor(name, wanted.shape, dtype, parts[wanted])
    if whole.dtype == wanted.dtype:
        return whole
    return compute(name, wanted.shape, lambda *axes: cast(whole[axes], wanted.dtype))


def _read(adjoint: Tensor) -> Contribution:
    def element(indices: Sequence[Scalar]) -> Scalar:
        return cast(adjoint[tuple(indices)], change_dtype(adjoint.dtype))

    return element


def varying(
    sources: Collection[Tensor], outputs: Sequence[Tensor], given: Collection[Tensor]
) -> list[Tensor]:
    """The tensors of floats that change with `sources`, producers first, sources included."""
    changes: dict[Tensor, bool] = dict.fromkeys(given, False) | dict.fromkeys(sources, True)
    order = list(sources)
    stack = list(reversed(outputs))
    entered: set[Tensor] = set()
    while stack:
        tensor = stack[-1]
        if tensor in changes:
            stack.pop()
        elif tensor in entered:
            stack.pop()
            read = dependencies(tensor)
            changes[tensor] = is_float(tensor.dtype) and any(changes[each] for each in read)
            order += [tensor] if changes[tensor] else []
        else:
            entered.add(tensor)
            stack += [each for each in dependencies(tensor) if each not in changes]
    return order
