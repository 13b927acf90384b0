"""Loop nests: the statements that a schedule turns tensor expressions into.

    statement ::= block of statements | for axis in begin .. end (kind) { statement }
                | buffer[value, ...] = value | if (value) { .. } else { .. }
                | while (value) { .. } | local buffer in { .. } | prefetch buffer[value, ...]

Loads of buffers use `relay_tune.tensor.expression.Load`. Code generation gives each kind of loop
its meaning: UNROLLED bodies are repeated, and IN_ORDER ones, of which none loads before the end of
the one before; a VECTOR loop becomes vector instructions, REGISTER buffers (indexed by constants
and unrolled or vector axes only) live in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from functools import partial

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Axis, Number, Scalar, Tensor, index_value, literal
from relay_tune.tensor.size import is_integer


class BufferScope(Enum):
    """Where a buffer lives."""

    ARGUMENT = "argument"
    LOCAL = "local"
    REGISTER = "register"


class LoopKind(Enum):
    """How a loop runs."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    UNROLLED = "unrolled"
    IN_ORDER = "unrolled in order"
    VECTOR = "vector"


@dataclass(frozen=True, eq=False, slots=True)
class Buffer(Tensor):
    """Memory that statements read and write; row-major."""

    scope: BufferScope


@dataclass(frozen=True, eq=False, slots=True)
class LaneReduce(Scalar):
    """The reduction of each operand over the lanes of `axis`, a vector axis that it alone binds.

    Several operands give the lanes of a vector, in the vector loop around.
    """

    operation: str
    axis: Axis
    rows: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Statement:
    """Base of statements."""


@dataclass(frozen=True, eq=False, slots=True)
class Block(Statement):
    """Statements in order."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Loop(Statement):
    """`axis` runs over begin .. end-1.

    `share` stands for the begin and the end of what one thread runs of it, if it is to be known.
    """

    axis: Axis
    begin: Scalar
    end: Scalar
    body: Statement
    kind: LoopKind = LoopKind.SERIAL
    share: tuple[Axis, Axis] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Let(Statement):
    """`axis` stands for `value`, which lies in 0 .. axis.extent-1, during `body`."""

    axis: Axis
    value: Scalar
    body: Statement


@dataclass(frozen=True, eq=False, slots=True)
class Store(Statement):
    """`buffer[indices] = value`."""

    buffer: Tensor
    indices: tuple[Scalar, ...]
    value: Scalar


@dataclass(frozen=True, eq=False, slots=True)
class Prefetch(Statement):
    """`buffer[indices]` will be read soon (written, if `for_write`); it may lie outside.

    What is written, or read from `near`, goes into the first cache, all else into the second one.
    """

    buffer: Tensor
    indices: tuple[Scalar, ...]
    for_write: bool = False
    near: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Branch(Statement):
    """`if (condition) { then } else { otherwise }`."""

    condition: Scalar
    then: Statement
    otherwise: Statement | None = None


@dataclass(frozen=True, eq=False, slots=True)
class While(Statement):
    """`while (condition) { body }`."""

    condition: Scalar
    body: Statement


@dataclass(frozen=True, eq=False, slots=True)
class Allocate(Statement):
    """`buffer` exists during `body`; its content is undefined at first."""

    buffer: Buffer
    body: Statement


@dataclass(frozen=True, eq=False, slots=True)
class Kernel:
    """A loop nest as a function.

    Attributes:
        name: the symbol.
        parameters: the buffers that the body reads and writes, in the order of its parameters.
        arguments: the tensors that it is called with, in the same order.
        body: the statement.
        points: how often its innermost statements run, roughly; perhaps an open size.
        sizes: the symbols of its sizes, in the order in which they follow the arguments.
        shared: the numbers of parameters that may lie in the memory of another one of them.
    """

    name: str
    parameters: tuple[Tensor, ...]
    arguments: tuple[Tensor, ...]
    body: Statement
    points: int = 0
    sizes: tuple[str, ...] = ()
    shared: frozenset[int] = frozenset()


class LoopBuilder:
    """Writes a loop nest from top to bottom with `with` blocks.

    b = LoopBuilder()
    total = b.local("total", (), "float32")
    b.store(total, (), 0.0)
    with b.loop("i", n) as i:
        b.store(total, (), total[()] + x[i])
    """

    def __init__(self) -> None:
        self._blocks: list[list[Statement]] = [[]]
        self._locals: list[Buffer] = []

    def statement(self) -> Statement:
        """All that was written, with its local buffers around it."""
        body: Statement = Block(tuple(self._blocks[0]))
        for buffer in reversed(self._locals):
            body = Allocate(buffer, body)
        return body

    def local(self, name: str, shape: Sequence[int], dtype: str) -> Buffer:
        """A scratch buffer of this nest."""
        buffer = Buffer(name=name, shape=tuple(shape), dtype=dtype, scope=BufferScope.LOCAL)
        self._locals.append(buffer)
        return buffer

    def store(
        self, buffer: Buffer, indices: Sequence[Scalar | int], value: Scalar | Number
    ) -> None:
        """`buffer[indices] = value`."""
        if not isinstance(value, Scalar):
            value = literal(value, buffer.dtype)
        self._blocks[-1].append(Store(buffer, tuple(index_value(i) for i in indices), value))

    @contextmanager
    def _around(self, statement: Callable[[Block], Statement]) -> Iterator[None]:
        """What is written inside is the body of a statement."""
        self._blocks.append([])
        yield
        body = Block(tuple(self._blocks.pop()))
        self._blocks[-1].append(statement(body))

    @contextmanager
    def loop(self, name: str, end: Scalar | int, begin: Scalar | int = 0) -> Iterator[Axis]:
        """A serial loop over begin .. end-1; gives its axis."""
        axis = Axis(name, end if is_integer(end) else 0, dtype=INDEX)
        with self._around(partial(Loop, axis, index_value(begin), index_value(end))):
            yield axis

    @contextmanager
    def vector(self, name: str, lanes: int) -> Iterator[Axis]:
        """A loop over so many elements, which are those of one vector; gives its axis."""
        axis = Axis(name, lanes, dtype=INDEX)
        ends = index_value(0), index_value(lanes)
        with self._around(lambda body: Loop(axis, *ends, body, LoopKind.VECTOR)):
            yield axis

    def when(self, condition: Scalar) -> AbstractContextManager[None]:
        """`if (condition) { .. }`."""
        return self._around(partial(Branch, condition))

    def while_(self, condition: Scalar) -> AbstractContextManager[None]:
        """`while (condition) { .. }`; the condition reads local buffers."""
        return self._around(partial(While, condition))
