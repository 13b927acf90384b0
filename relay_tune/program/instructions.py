"""The instructions of first-order programs.

A body of a function is an acyclic graph of basic blocks:

    function @sum(n: int32, acc: int32):
      block0:  c = less(n, 1);  branch c block1 block2
      block1:  return acc
      block2:  m = subtract(n, 1);  s = add(acc, n);  tail call @sum(m, s)

Registers are assigned once. Blocks stand in topological order; a block that several others go to
may have parameters. Instructions say which of their operands they consume: of a counted pointer,
the reference passes to the instruction; other operands are only looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import ClassVar

import numpy as np

from relay_tune.ir.dim import Dim
from relay_tune.ir.expr import Function as RelayFunction
from relay_tune.program.kinds import Kind, ScalarKind
from relay_tune.program.layouts import ObjectLayout
from relay_tune.program.open_primitive import OpenPrimitive
from relay_tune.program.region import Region
from relay_tune.program.size_naming import SizeSource
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Register:
    """A value of one component, assigned once."""

    kind: Kind


@dataclass(frozen=True, eq=False, slots=True)
class Operation:
    """Base of instructions and terminators.

    CONSUMES and BORROWS name the fields that are operands, one register or several each.
    """

    CONSUMES: ClassVar[tuple[str, ...]] = ()
    BORROWS: ClassVar[tuple[str, ...]] = ()

    @property
    def consumed(self) -> tuple[Register, ...]:
        """Operands whose references pass on."""
        return _registers(self, self.CONSUMES)

    @property
    def borrowed(self) -> tuple[Register, ...]:
        """Operands that are only looked at."""
        return _registers(self, self.BORROWS)

    @property
    def operands(self) -> tuple[Register, ...]:
        """All that is read, some perhaps several times."""
        return (*self.consumed, *self.borrowed)


def _registers(operation: Operation, names: Sequence[str]) -> tuple[Register, ...]:
    found: list[Register] = []
    for name in names:
        value = getattr(operation, name)
        found += (value,) if isinstance(value, Register) else value
    return tuple(found)


@dataclass(frozen=True, eq=False, slots=True)
class Instruction(Operation):
    """Base of instructions; ASSIGNS names the fields that are results."""

    ASSIGNS: ClassVar[tuple[str, ...]] = ()

    @property
    def results(self) -> tuple[Register, ...]:
        """The registers that are assigned."""
        return _registers(self, self.ASSIGNS)


@dataclass(frozen=True, eq=False, slots=True)
class OneResult(Instruction):
    """Base of instructions that assign one register."""

    ASSIGNS = ("result",)
    result: Register


@dataclass(frozen=True, eq=False, slots=True)
class RunKernel(Instruction):
    """Run a primitive function on tensors and scalars; kernels become parts of regions."""

    ASSIGNS = ("outputs",)
    BORROWS = ("inputs",)
    primitive: RelayFunction
    inputs: tuple[Register, ...]
    outputs: tuple[Register, ...]


@dataclass(frozen=True, eq=False, slots=True)
class ComputeScalars(RunKernel):
    """Evaluate a primitive function of scalars in registers."""


@dataclass(frozen=True, eq=False, slots=True)
class DeferKernel(RunKernel):
    """Note that a primitive function is to be run before elements of its outputs are needed."""


@dataclass(frozen=True, eq=False, slots=True)
class RunRegion(Instruction):
    """Run kernels one after the other in memory that is planned ahead.

    Inputs and outputs are those of the region, in its order. An output that `reuses` has, by
    number, is the object of an input if nothing else refers to that, which is released behind it.
    """

    ASSIGNS = ("outputs",)
    BORROWS = ("inputs",)
    region: Region
    inputs: tuple[Register, ...]
    outputs: tuple[Register, ...]
    reuses: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class AppendRows(OneResult):
    """A tensor and others behind it along an axis, in memory that has room for them.

    Attributes:
        old: the tensor; if it lies in the memory of the result already, it stays as it is.
        rows: what comes behind it.
        axis: along which.
        output: the component of the entry's result that this is; the caller may give its memory.
    """

    BORROWS = ("old", "rows")
    old: Register
    rows: Register
    axis: int
    output: int


@dataclass(frozen=True, eq=False, slots=True)
class ViewRows(OneResult):
    """A result of AppendRows under another shape, which has the axis of the rows, too.

    It is no object: the result that it views lives longer. `open` says how its sizes follow.
    """

    BORROWS = ("source",)
    source: Register
    open: OpenPrimitive


@dataclass(frozen=True, eq=False, slots=True)
class ExtendTensor(OneResult):
    """A tensor and rows behind it, in its memory if nothing else needs it and there is room."""

    CONSUMES = ("old",)
    BORROWS = ("rows",)
    old: Register
    rows: Register
    axis: int


@dataclass(frozen=True, eq=False, slots=True)
class LoadConstant(OneResult):
    """A constant: a literal, or the address of a static tensor object."""

    data: np.ndarray


@dataclass(frozen=True, eq=False, slots=True)
class Reshape(OneResult):
    """The elements of `source` under another shape; a tensor object serves as it is.

    Where the new shape is known at run time only, `open` says how it follows from the old one.
    """

    source: Register
    open: OpenPrimitive | None = None

    @property
    def consumed(self) -> tuple[Register, ...]:
        """The source, unless only its number is taken."""
        return () if isinstance(self.result.kind, ScalarKind) else (self.source,)

    @property
    def borrowed(self) -> tuple[Register, ...]:
        """The source, if only its number is taken."""
        return (self.source,) if isinstance(self.result.kind, ScalarKind) else ()


@dataclass(frozen=True, slots=True)
class SizeOf:
    """The size of an axis of a tensor."""

    tensor: Register
    axis: int


@dataclass(frozen=True, eq=False, slots=True)
class CheckSize(Instruction):
    """Fail with a message unless a size is as wanted.

    `symbols` are the sizes that the wanted one depends on.
    """

    size: SizeOf
    wanted: Dim
    symbols: Mapping[str, SizeOf]
    message: str

    @property
    def borrowed(self) -> tuple[Register, ...]:
        """The tensors whose sizes are read."""
        return (self.size.tensor, *(size.tensor for size in self.symbols.values()))


@dataclass(frozen=True, eq=False, slots=True)
class CheckRoom(Instruction):
    """Fail with a message where a size is negative.

    `symbols` are the axes that it depends on, and where each size is in its axis.
    """

    room: Dim
    symbols: Mapping[str, tuple[SizeOf, SizeSource]]
    message: str

    @property
    def borrowed(self) -> tuple[Register, ...]:
        """The tensors whose sizes are read."""
        return tuple(dict.fromkeys(size.tensor for size, _ in self.symbols.values()))


@dataclass(frozen=True, eq=False, slots=True)
class CheckIndices(Instruction):
    """Fail with a message unless indices are in range.

    Attributes:
        indices: the indices; where there are none, none is out of range.
        extent: the extents of their coordinates (`relay_tune.op.index_check`).
        sizes: for each coordinate the size of its axis, as factors; of a register its number.
        message: what is said where an index is outside.
    """

    indices: Register
    extent: Register
    sizes: tuple[tuple[int | SizeOf | Register, ...], ...]
    message: str

    @property
    def borrowed(self) -> tuple[Register, ...]:
        """The extent, and the tensors whose sizes are read."""
        factors = [factor for size in self.sizes for factor in size]
        tensors = [
            factor.tensor if isinstance(factor, SizeOf) else factor
            for factor in factors
            if not isinstance(factor, int)
        ]
        return (self.indices, self.extent, *dict.fromkeys(tensors))


@dataclass(frozen=True, eq=False, slots=True)
class MakeObject(OneResult):
    """A new object; one without fields is static."""

    CONSUMES = ("fields",)
    layout: ObjectLayout
    fields: tuple[Register, ...]


@dataclass(frozen=True, eq=False, slots=True)
class ReadField(OneResult):
    """A field of an object, with a reference of its own."""

    BORROWS = ("object",)
    object: Register
    layout: ObjectLayout
    index: int


@dataclass(frozen=True, eq=False, slots=True)
class WriteField(Instruction):
    """Replace a field of an object; the old value is released."""

    CONSUMES = ("value",)
    BORROWS = ("object",)
    object: Register
    layout: ObjectLayout
    index: int
    value: Register


@dataclass(frozen=True, eq=False, slots=True)
class CallFunction(Instruction):
    """Call a function of the program."""

    ASSIGNS = ("outputs",)
    CONSUMES = ("arguments",)
    function: str
    arguments: tuple[Register, ...]
    outputs: tuple[Register, ...]


@dataclass(frozen=True, eq=False, slots=True)
class CallClosure(Instruction):
    """Call the code of a closure, which is given the closure first."""

    ASSIGNS = ("outputs",)
    CONSUMES = ("closure", "arguments")
    closure: Register
    arguments: tuple[Register, ...]
    outputs: tuple[Register, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Retain(Instruction):
    """One more reference."""

    object: Register


@dataclass(frozen=True, eq=False, slots=True)
class Release(Instruction):
    """One reference less; the object is freed with the last one."""

    object: Register


@dataclass(frozen=True, eq=False, slots=True)
class Unpack(Instruction):
    """Read fields of an object and give up the reference to it.

    If it was the last one, the fields move out and the object is freed as it stands.
    """

    CONSUMES = ("object",)
    object: Register
    layout: ObjectLayout
    fields: Mapping[int, Register]

    @property
    def results(self) -> tuple[Register, ...]:
        """The fields that are read."""
        return tuple(self.fields.values())
