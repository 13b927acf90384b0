"""The statements of a loop nest, and the tensors that it reads and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from relay_tune.tensor.expression import Literal, Load, Scalar, Tensor
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
    Buffer,
    BufferScope,
    Kernel,
    LaneReduce,
    Let,
    Loop,
    LoopKind,
    Prefetch,
    Statement,
    Store,
    While,
)
from relay_tune.tensor.matrix_registers import MatrixLoad, MatrixRegisters, MatrixStore
from relay_tune.tensor.size import SymbolicSize, is_symbolic, nominal, size_symbols
from relay_tune.tensor.walk import sub_expressions


def touched_tensors(root: Statement) -> tuple[Tensor, ...]:
    """The tensors read or written, without the nest's own buffers, in order of first use."""
    own: set[Tensor] = set()
    found: dict[Tensor, None] = {}
    for node in statements(root):
        if isinstance(node, Allocate):
            own.add(node.buffer)
        for expression in _expressions(node):
            found.update(dict.fromkeys(_loaded(expression)))
        if isinstance(node, Store | Prefetch | MatrixLoad | MatrixStore):
            found[node.buffer] = None
    return tuple(tensor for tensor in found if tensor not in own)


def open_scratch(root: Statement) -> tuple[Buffer, ...]:
    """The local buffers whose sizes are open: they do not fit on the stack."""
    return tuple(
        node.buffer
        for node in statements(root)
        if isinstance(node, Allocate)
        and node.buffer.scope is BufferScope.LOCAL
        and any(is_symbolic(extent) for extent in node.buffer.shape)
    )


def size_names(root: Statement, arguments: Sequence[Tensor]) -> tuple[str, ...]:
    """The symbols of all sizes in a statement and of its arguments, in order of their names."""
    found = {name for t in arguments for extent in t.shape for name in size_symbols(extent)}
    for node in statements(root):
        if isinstance(node, Loop | Let):
            found |= size_symbols(node.axis.extent)
        for expression in _expressions(node):
            for part in sub_expressions(expression):
                if isinstance(part, Literal) and isinstance(part.value, SymbolicSize):
                    found |= size_symbols(part.value)
    return tuple(sorted(found))


def statements(root: Statement) -> Iterator[Statement]:
    """Every statement, outer ones first."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        match node:
            case Block():
                pending += reversed(node.statements)
            case Loop() | While() | Allocate() | Let() | MatrixRegisters():
                pending.append(node.body)
            case Branch():
                pending += (node.then,) if node.otherwise is None else (node.otherwise, node.then)


def stores_of(root: Statement) -> Iterator[Store]:
    """All stores in a statement."""
    return (node for node in statements(root) if isinstance(node, Store))


def written_buffers(root: Statement) -> Iterator[Tensor]:
    """The buffer of each store in a statement, of matrix registers too."""
    return (node.buffer for node in statements(root) if isinstance(node, Store | MatrixStore))


def has_parallel_loop(root: Statement) -> bool:
    """Whether there is a parallel loop in a statement."""
    return any(
        isinstance(node, Loop) and node.kind is LoopKind.PARALLEL for node in statements(root)
    )


def parallel_iterations(root: Statement) -> int | None:
    """The iterations of the shortest parallel loop in a statement; None if there is none."""
    shortest = _shortest_parallel(root)
    return None if shortest is None else shortest.axis.extent


def _shortest_parallel(root: Statement) -> Loop | None:
    loops = (node for node in statements(root) if isinstance(node, Loop))
    parallel = (loop for loop in loops if loop.kind is LoopKind.PARALLEL)
    return min(parallel, default=None, key=lambda loop: nominal(loop.axis.extent))


def as_called(kernel: Kernel) -> Kernel:
    """A kernel as those who call it see it: without what its parallel loop runs."""
    shared = _shortest_parallel(kernel.body)
    nothing: Statement = Block(())
    return replace(kernel, body=nothing if shared is None else replace(shared, body=nothing))


def _expressions(node: Statement) -> tuple[Scalar, ...]:
    match node:
        case Store():
            return (*node.indices, node.value)
        case Prefetch() | MatrixLoad() | MatrixStore():
            return node.indices
        case Loop():
            return (node.begin, node.end)
        case Let():
            return (node.value,)
        case Branch() | While():
            return (node.condition,)
    return ()


def _loaded(root: Scalar) -> Iterator[Tensor]:
    for node in sub_expressions(root):
        if isinstance(node, Load):
            yield node.tensor
        elif isinstance(node, LaneReduce):
            for row in node.rows:
                yield from _loaded(row)
