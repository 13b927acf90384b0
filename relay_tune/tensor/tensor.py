"""Tensors by how they come about: inputs, computed elements, and procedures.

An operator's computation is written with `compute`, one expression for each element:

    k = Axis("k", a.shape[1])
    compute("matmul", (m, n), lambda i, j: reduce("sum", [k], a[i, k] * b[k, j]))

What no expression for each element can say (sorting, running sums) is a procedure: a loop nest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Axis, Scalar, Tensor
from relay_tune.tensor.loops import Buffer, BufferScope, LoopBuilder, Statement

AXIS_NAMES = "ijklmnop"


@dataclass(frozen=True, eq=False, slots=True)
class Input(Tensor):
    """A tensor that is given: an argument of the primitive, or a constant."""


@dataclass(frozen=True, eq=False, slots=True)
class Computed(Tensor):
    """A tensor whose element at `axes` is `body` (a `Reduce` at its root is a reduction)."""

    axes: tuple[Axis, ...]
    body: Scalar


@dataclass(frozen=True, eq=False, slots=True)
class Copy(Computed):
    """A tensor that is stored for its order in memory: it never becomes a part of what reads it."""


@dataclass(frozen=True, eq=False, slots=True)
class Panels(Copy):
    """Weights that a kernel converts once for many uses.

    They are made of constants alone. The first dimension counts panels, the last one has columns.
    """


@dataclass(frozen=True, eq=False, slots=True)
class WordView(Tensor):
    """The words of int32 that a tensor of narrow integers is; the last dimension has whole ones."""

    viewed: Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Procedure:
    """A loop nest that fills `outputs` from `inputs`; it runs as it stands, on one thread."""

    name: str
    inputs: tuple[Tensor, ...]
    input_buffers: tuple[Buffer, ...]
    output_buffers: tuple[Buffer, ...]
    body: Statement


@dataclass(frozen=True, eq=False, slots=True)
class ProcedureOutput(Tensor):
    """The tensor that a procedure leaves in its output number `index`."""

    procedure: Procedure
    index: int


def input_tensor(name: str, shape: Sequence[int], dtype: str) -> Input:
    """A tensor that is given."""
    return Input(name=name, shape=tuple(shape), dtype=dtype)


def words_of(tensor: Tensor, group: int) -> WordView:
    """A tensor as words of so many elements, of which the last dimension has a multiple."""
    *outer, last = tensor.shape
    return WordView(name=tensor.name, shape=(*outer, last // group), dtype="int32", viewed=tensor)


def stored(tensor: Tensor) -> Tensor:
    """The tensor whose elements are in memory: that of a view, or itself."""
    return tensor.viewed if isinstance(tensor, WordView) else tensor


def compute(name: str, shape: Sequence[int], element: Callable[..., Scalar]) -> Computed:
    """The tensor of `shape` whose element at (i, j, ...) is `element(i, j, ...)`."""
    axes = tuple(
        Axis(AXIS_NAMES[n] if n < len(AXIS_NAMES) else f"i{n}", extent)
        for n, extent in enumerate(shape)
    )
    body = element(*axes)
    return Computed(name=name, shape=tuple(shape), dtype=body.dtype, axes=axes, body=body)


def copy_of(made: Computed) -> Copy:
    """The same tensor as a copy."""
    return Copy(name=made.name, shape=made.shape, dtype=made.dtype, axes=made.axes, body=made.body)


def panels_of(made: Computed) -> Panels:
    """The same tensor as panels of weights."""
    return Panels(
        name=made.name, shape=made.shape, dtype=made.dtype, axes=made.axes, body=made.body
    )


def procedure(
    name: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[Sequence[int], str]],
    write: Callable[..., None],
) -> tuple[ProcedureOutput, ...]:
    """The tensors of the given (shape, dtype) that a loop nest fills.

    `write(builder, *input_buffers, *output_buffers)` writes the nest with the builder.
    """
    sources = tuple(
        Buffer(name=f"{name}_in{n}", shape=t.shape, dtype=t.dtype, scope=BufferScope.ARGUMENT)
        for n, t in enumerate(inputs)
    )
    targets = tuple(
        Buffer(name=f"{name}_out{n}", shape=tuple(shape), dtype=dtype, scope=BufferScope.ARGUMENT)
        for n, (shape, dtype) in enumerate(outputs)
    )
    builder = LoopBuilder()
    write(builder, *sources, *targets)
    record = Procedure(name, tuple(inputs), sources, targets, builder.statement())
    return tuple(
        ProcedureOutput(name=t.name, shape=t.shape, dtype=t.dtype, procedure=record, index=n)
        for n, t in enumerate(targets)
    )
