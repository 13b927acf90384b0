"""Loop nests as text for people; nothing reads it back.

parallel i.o in 0 .. 8
  registers total: float32[4]
    vector j in 0 .. 8
      out[8 * i.o + j] = total[j]
"""

from __future__ import annotations

from collections.abc import Iterator

from relay_tune.tensor.expression import Scalar, Tensor
from relay_tune.tensor.expression_text import scalar_text
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
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
from relay_tune.tensor.matrix_registers import (
    MatrixClear,
    MatrixLoad,
    MatrixMultiply,
    MatrixRegisters,
    MatrixStore,
)

Lines = Iterator[str]


def kernel_text(kernel: Kernel) -> str:
    """A kernel: its parameters, then its statements, indented by their nesting."""
    parameters = ", ".join(_declared(tensor) for tensor in kernel.parameters)
    return "\n".join([f"kernel {kernel.name}({parameters})", *_statement(kernel.body, "  ")])


def _statement(statement: Statement, indent: str) -> Lines:
    """Nesting is that of loops, which a schedule bounds: recursion is safe here."""
    inner = indent + "  "
    match statement:
        case Block():
            for each in statement.statements:
                yield from _statement(each, indent)
        case Loop():
            kind = "for" if statement.kind is LoopKind.SERIAL else statement.kind.value
            begin, end = _index(statement.begin), _index(statement.end)
            share = ""
            if statement.share is not None:
                share = ", a thread's share {} .. {}".format(*(a.name for a in statement.share))
            yield f"{indent}{kind} {statement.axis.name} in {begin} .. {end}{share}"
            yield from _statement(statement.body, inner)
        case Let():
            yield f"{indent}{statement.axis.name} = {_index(statement.value)}"
            yield from _statement(statement.body, indent)
        case Store():
            yield from _store(statement, indent)
        case Prefetch():
            position = ", ".join(_index(index) for index in statement.indices)
            purpose = " near" if statement.near else ""
            purpose = " for writing" if statement.for_write else purpose
            yield f"{indent}prefetch {statement.buffer.name}[{position}]{purpose}"
        case Branch():
            yield f"{indent}if {_index(statement.condition)}"
            yield from _statement(statement.then, inner)
            if statement.otherwise is not None:
                yield f"{indent}else"
                yield from _statement(statement.otherwise, inner)
        case While():
            yield f"{indent}while {_index(statement.condition)}"
            yield from _statement(statement.body, inner)
        case Allocate():
            yield f"{indent}{statement.buffer.scope.value} {_declared(statement.buffer)}"
            yield from _statement(statement.body, indent)
        case MatrixRegisters():
            rows = ", ".join(map(str, statement.rows))
            yield f"{indent}matrix registers of {rows} rows"
            yield from _statement(statement.body, indent)
        case MatrixClear():
            yield f"{indent}m{statement.register} = 0"
        case MatrixMultiply():
            yield f"{indent}m{statement.into} += m{statement.left} * m{statement.right}"
        case MatrixLoad():
            yield f"{indent}m{statement.register} = {_rows(statement)}"
        case MatrixStore():
            yield f"{indent}{_rows(statement)} = m{statement.register}"


def _rows(statement: MatrixLoad | MatrixStore) -> str:
    position = ", ".join(_index(index) for index in statement.indices)
    return f"{statement.buffer.name}[{position}] in rows {statement.stride} apart"


def _store(store: Store, indent: str) -> Lines:
    value = scalar_text(store.value)
    for line in value.definitions:
        yield f"{indent}{line}"
    position = ", ".join(_index(index) for index in store.indices)
    text = _reduced(store.value) if isinstance(store.value, LaneReduce) else value.text
    yield f"{indent}{store.buffer.name}[{position}] = {text}"


def _reduced(value: LaneReduce) -> str:
    rows = "; ".join(scalar_text(row).text for row in value.rows)
    return f"{value.operation} over lanes of {value.axis.name}: {rows}"


def _index(value: Scalar) -> str:
    """A short expression on one line."""
    written = scalar_text(value)
    return "; ".join([*written.definitions, written.text])


def _declared(tensor: Tensor) -> str:
    return f"{tensor.name}: {tensor.dtype}[{', '.join(str(size) for size in tensor.shape)}]"
