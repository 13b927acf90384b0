"""The sizes of the tensors of a region, as expressions of the sizes of its inputs.

    region(x: Tensor[(n, 784)], y: Tensor[(?, 128)]) { h = dense(x);  z = concatenate(h, y) }

Here r0 is the size of axis 0 of x, r1 that of y: h has the shape (r0, 128), z (r0 + r1, 128). So
all sizes are known, and can be checked, before the first kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from relay_tune.ir.dim import Dim, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import (
    is_sum_of_sizes,
    positive_part,
    product,
    substitute,
    symbol_names,
)
from relay_tune.ir.dim_order import is_never_negative
from relay_tune.ir.expr import Function
from relay_tune.op.node_names import kernel_title, node_names
from relay_tune.op.primitive_key import primitive_title
from relay_tune.program.instructions import (
    CheckRoom,
    CheckSize,
    ComputeScalars,
    Instruction,
    Register,
    Reshape,
    RunKernel,
    SizeOf,
)
from relay_tune.program.kinds import TensorKind
from relay_tune.program.open_primitive import OpenPrimitive, is_open_primitive, open_primitive
from relay_tune.program.region import SizeCheck


class RegionSizes:
    """Sizes of registers, found instruction by instruction.

    Attributes:
        symbols: where each symbol is read.
        runs: the values of the symbols of each kernel's primitive.
        checks: what each instruction asks of sizes and is not known to hold.
    """

    def __init__(self) -> None:
        self.symbols: dict[str, SizeOf] = {}
        self.runs: dict[RunKernel, Mapping[str, Dim]] = {}
        self.checks: dict[Instruction, tuple[SizeCheck, ...]] = {}
        self._shapes: dict[Register, tuple[Dim, ...]] = {}
        self._names: dict[str | tuple[Register, int], Symbol] = {}

    def shape(self, register: Register) -> tuple[Dim, ...]:
        """The shape of a register; sizes of one that nothing computed are symbols."""
        kind = register.kind
        if not isinstance(kind, TensorKind):
            return ()
        if not kind.is_open:
            return kind.type.shape
        if register not in self._shapes:
            sizes = (self._given(register, axis) for axis in range(len(kind.type.shape)))
            self._shapes[register] = tuple(sizes)
        return self._shapes[register]

    def add(self, instruction: Instruction) -> None:
        """Find the sizes of the results of an instruction."""
        match instruction:
            case ComputeScalars():
                return
            case RunKernel() if is_open_primitive(instruction.primitive):
                named = open_primitive(instruction.primitive)
                self.add_run(instruction, named, kernel_words(instruction.primitive))
            case Reshape(open=OpenPrimitive() as view):
                self._reshape(instruction, view)
            case CheckSize():
                wanted = substitute(instruction.wanted, self._of(instruction.symbols))
                size = self._at(instruction.size)
                self._note(
                    instruction, [SizeCheck(size, positive_part(wanted), instruction.message)]
                )
            case CheckRoom():
                values = {
                    name: source.size(self._at(at))
                    for name, (at, source) in instruction.symbols.items()
                }
                room = substitute(instruction.room, values)
                self._note(instruction, [SizeCheck(room, None, instruction.message)])

    def fits(self, named: OpenPrimitive, inputs: Sequence[Register]) -> bool:
        """Whether the sizes of registers fit each other in any case."""
        return all(each.holds for each in self._equalities(named, inputs))

    def add_run(self, run: RunKernel, named: OpenPrimitive, title: str) -> None:
        """Find the sizes of a kernel's results; what it finds itself has its own symbols."""
        symbols = self._symbols_of(named, run.inputs)
        equal = f"The inputs of {title} have sizes that do not fit each other."
        checks = [replace(each, message=equal) for each in self._equalities(named, run.inputs)]
        for register, shape in zip(run.outputs, named.outputs, strict=True):
            sizes = [substitute(dim, symbols) for dim in shape]
            for axis, (dim, size) in enumerate(zip(shape, sizes, strict=True)):
                if is_sum_of_sizes(size):
                    continue
                if is_never_negative(dim):  # such as n - 1: 0 where n is, as for x[1:]
                    sizes[axis] = positive_part(size)
                else:  # such as n - 2
                    checks.append(SizeCheck(size, None, no_size(title)))
            self._shapes[register] = tuple(sizes)
        self.runs[run] = symbols
        self._note(run, checks)

    def _symbols_of(self, named: OpenPrimitive, inputs: Sequence[Register]) -> dict[str, Dim]:
        """The values of the symbols of a primitive."""
        known = {
            name: at.size(self._size(inputs[at.input], at.axis))
            for name, at in named.symbols.items()
        }
        return {**known, **{name: Symbol(name, 0) for name in named.found}}

    def _equalities(self, named: OpenPrimitive, inputs: Sequence[Register]) -> Iterator[SizeCheck]:
        symbols = self._symbols_of(named, inputs)
        for at, wanted in named.checks:
            yield SizeCheck(self._size(inputs[at.input], at.axis), substitute(wanted, symbols))
        for before, after in named.counts:
            yield SizeCheck(substitute(before, symbols), substitute(after, symbols))

    def _reshape(self, reshape: Reshape, view: OpenPrimitive) -> None:
        given = self.shape(reshape.source)
        symbols = {name: at.size(given[at.axis]) for name, at in view.symbols.items()}
        shape = tuple(substitute(dim, symbols) for dim in view.outputs[0])
        self._shapes[reshape.result] = shape
        message = "A tensor has not as many elements as the shape that it should get."
        self._note(reshape, [SizeCheck(product(given), product(shape), message)])

    def _note(self, instruction: Instruction, checks: Sequence[SizeCheck]) -> None:
        kept = tuple(each for each in checks if not each.holds)
        if kept:
            self.checks[instruction] = kept

    def _of(self, symbols: Mapping[str, SizeOf]) -> dict[str, Dim]:
        return {name: self._at(at) for name, at in symbols.items()}

    def _at(self, size: SizeOf) -> Dim:
        return self._size(size.tensor, size.axis)

    def _size(self, register: Register, axis: int) -> Dim:
        """The size of an axis; behind the last one, that of the tensor that a spaced one is in."""
        shape = self.shape(register)
        return shape[axis] if axis < len(shape) else self._symbol((register, axis), register, axis)

    def _given(self, register: Register, axis: int) -> Dim:
        """A size of an input. Sizes of one text are equal, as they are within a primitive."""
        assert isinstance(register.kind, TensorKind)
        dim = register.kind.type.shape[axis]
        if isinstance(dim, int):
            return dim
        if isinstance(dim, UnknownDim):
            return self._symbol((register, axis), register, axis)
        known = {name: self._names[name] for name in symbol_names(dim) if name in self._names}
        if not isinstance(dim, Symbol) and len(known) == len(symbol_names(dim)):
            return substitute(dim, known)
        return self._symbol(str(dim), register, axis)

    def _symbol(self, key: str | tuple[Register, int], register: Register, axis: int) -> Symbol:
        if key not in self._names:
            symbol = self._names[key] = Symbol(f"r{len(self._names)}", 0)
            self.symbols[symbol.name] = SizeOf(register, axis)
        return self._names[key]


def kernel_words(function: Function) -> str:
    """Title of a primitive's computation, for messages."""
    return kernel_title(primitive_title(function), node_names(function)[:1])


def no_size(title: str) -> str:
    """Message where a size of a result would be negative."""
    return f"The sizes of the inputs of {title} do not fit the operation."
