"""Sums of values at indices that only the elements of other tensors say: a loop nest.

    total[index[i], j] += value[i, j]        for all i, then all j

One thread adds in the order of the points, so that the sums are the same in every run. What is
added is kept as an expression, so that the result has derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.derivative.scalar_adjoints import Guard, Guarded
from relay_tune.tensor.expression import Axis, Load, Scalar, Tensor, literal, unary
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.tensor import ProcedureOutput, procedure
from relay_tune.tensor.walk import loads, substitute, transform


@dataclass(frozen=True, eq=False, slots=True)
class Scattered(ProcedureOutput):
    """`self[places] += value` for all points, for each value where its conditions hold."""

    points: tuple[Axis, ...]
    places: tuple[Scalar, ...]
    values: tuple[tuple[Guard, Scalar], ...]


def scattered(
    name: str,
    shape: Sequence[int],
    points: Sequence[Axis],
    places: Sequence[Scalar],
    values: Guarded,
) -> Scattered:
    """The tensor of sums of guarded values at indices, of the shape of the target."""
    entries = tuple(values.items())
    dtype = entries[0][1].dtype
    roots = [*places, *(value for _, value in entries)]
    roots += [condition for guard, _ in entries for condition, _ in guard]
    read = tuple(dict.fromkeys(load.tensor for root in roots for load in loads(root)))

    def write(builder: LoopBuilder, *buffers: Buffer) -> None:
        *sources, target = buffers
        known = dict(zip(read, sources, strict=True))
        with ExitStack() as stack:
            outer = [
                stack.enter_context(builder.loop(f"t{n}", size)) for n, size in enumerate(shape)
            ]
            builder.store(target, outer, literal(0.0, dtype))
        with ExitStack() as stack:
            loops = {
                axis: stack.enter_context(builder.loop(axis.name, axis.extent)) for axis in points
            }
            named = _renamed(known, loops)
            for guard, value in entries:
                _add(builder, target, [named(position) for position in places], guard, value, named)

    (output,) = procedure(name, read, [(tuple(shape), dtype)], write)
    return Scattered(
        name=output.name,
        shape=output.shape,
        dtype=dtype,
        procedure=output.procedure,
        index=0,
        points=tuple(points),
        places=tuple(places),
        values=entries,
    )


def _renamed(buffers: dict[Tensor, Buffer], loops: dict[Axis, Axis]) -> Callable[[Scalar], Scalar]:
    """Expressions over tensors and points as expressions over buffers and loops."""

    def visit(node: Scalar) -> Scalar:
        if not isinstance(node, Load):
            return node
        return Load(buffers[node.tensor], node.indices, dtype=node.dtype)

    return lambda root: transform(substitute(root, dict(loops)), visit)


def _add(
    builder: LoopBuilder,
    target: Buffer,
    indices: Sequence[Scalar],
    guard: Guard,
    value: Scalar,
    named: Callable[[Scalar], Scalar],
) -> None:
    with ExitStack() as stack:
        for condition, wanted in guard:
            holds = named(condition)
            stack.enter_context(builder.when(holds if wanted else unary("not", holds)))
        builder.store(target, indices, target[tuple(indices)] + named(value))
