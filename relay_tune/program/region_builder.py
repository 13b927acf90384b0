"""Writing down the kernels of a region one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function, Var
from relay_tune.ir.types import FuncType, TensorType
from relay_tune.op.primitive_views import is_join, view_offset
from relay_tune.program.instructions import Instruction, Register, Reshape, RunKernel
from relay_tune.program.kinds import ScalarKind, TensorKind
from relay_tune.program.region import Buffer, KernelRun, Origin, Part, Region, SizeCheck
from relay_tune.program.region_sizes import RegionSizes
from relay_tune.program.size_naming import SizeSource


class RegionBuilder:
    """A region under construction.

    Attributes:
        inputs: the registers that it reads so far.
        buffers: the memory of each register.
    """

    def __init__(
        self, sizes: RegionSizes, constants: Mapping[Register, np.ndarray] | None = None
    ) -> None:
        """`constants` are the registers whose content is known."""
        self.inputs: list[Register] = []
        self.buffers: dict[Register, Buffer] = {}
        self._sizes = sizes
        self._known = constants or {}
        self._outputs: dict[Buffer, None] = {}
        self._runs: list[KernelRun] = []
        self._parts: dict[Buffer, Part] = {}
        self._constants: dict[int, Buffer] = {}

    def input(self, register: Register) -> Buffer:
        """The buffer of a register: an input, or a constant, where nothing computed it."""
        if register not in self.buffers and register in self._known:
            self.buffers[register] = self._constant(self._known[register])
        if register not in self.buffers:
            self.inputs.append(register)
            self.buffers[register] = Buffer(self._type(register), Origin.INPUT)
        return self.buffers[register]

    def add(self, instruction: Instruction) -> None:
        """One more kernel or view."""
        match instruction:
            case Reshape():
                self.buffers[instruction.result] = self.input(instruction.source)
            case RunKernel():
                self._add_run(instruction)

    def run_kernel(self, run: RunKernel) -> None:
        """Have a kernel compute what a primitive gives, also if it is a view."""
        inputs = tuple(map(self.input, run.inputs))
        outputs = tuple(Buffer(self._type(each), Origin.COMPUTED) for each in run.outputs)
        symbols = self._sizes.runs.get(run, {})
        self._runs.append(KernelRun(run.primitive, inputs, outputs, symbols))
        self.buffers.update(zip(run.outputs, outputs, strict=True))

    def region(self, outputs: Sequence[Register], checked: Iterable[Instruction]) -> Region:
        """The finished region; `checked` are the instructions whose sizes are checked."""
        for register in outputs:
            self._add_output(self.buffers[register])
        checks = [check for each in checked for check in self._sizes.checks.get(each, ())]
        shapes = tuple(map(self._sizes.shape, outputs))
        symbols = self._symbols(checks, shapes)
        return Region(
            inputs=tuple(self.buffers[register] for register in self.inputs),
            outputs=tuple(self._outputs),
            runs=tuple(self._runs),
            parts=_resolved(self._parts),
            symbols=symbols,
            shapes=shapes,
            checks=tuple(dict.fromkeys(checks)),
        )

    def _symbols(
        self, checks: Iterable[SizeCheck], shapes: Iterable[tuple[Dim, ...]]
    ) -> dict[str, SizeSource]:
        """Where the symbols are read that its sizes have; these registers become inputs."""
        used = {dim for shape in shapes for dim in shape}
        used.update(dim for run in self._runs for dim in run.sizes.values())
        used.update(dim for check in checks for dim in (check.value, check.wanted or 0))
        for run in self._runs:
            used.update(dim for buffer in run.outputs for dim in buffer.type.shape)
        names = {name for dim in used for name in symbol_names(dim)}
        found: dict[str, SizeSource] = {}
        for name, at in self._sizes.symbols.items():
            if name in names:
                self.input(at.tensor)
                found[name] = SizeSource(self.inputs.index(at.tensor), at.axis)
        return found

    def _type(self, register: Register) -> TensorType:
        match register.kind:
            case ScalarKind(dtype=dtype):
                return TensorType((), dtype)
            case TensorKind(type=type_):
                return TensorType(self._sizes.shape(register), type_.dtype)
        raise TypeError(f"a kernel with {register.kind}")  # which no primitive reads or gives

    def _constant(self, data: np.ndarray) -> Buffer:
        """The buffer of a constant; the same for the same array."""
        if id(data) not in self._constants:
            type_ = TensorType(data.shape, data.dtype.name)
            self._constants[id(data)] = Buffer(type_, Origin.CONSTANT, data)
        return self._constants[id(data)]

    def _add_run(self, run: RunKernel) -> None:
        offset = view_offset(run.primitive)
        if offset is not None and len(run.inputs) == len(run.outputs) == 1:
            (source,), (result,) = run.inputs, run.outputs
            self.buffers[result] = self._view(self.input(source), offset, self._type(result))
        elif is_join(run.primitive):
            sources = [*map(self.input, run.inputs)]
            (result,) = run.outputs
            self.buffers[result] = self._join(sources, self._type(result))
        else:
            self.run_kernel(run)

    def _view(self, source: Buffer, offset: int, type_: TensorType) -> Buffer:
        """A piece of a buffer, from an element on; with its size, the buffer itself."""
        view = Buffer(type_, Origin.COMPUTED)
        if view.size == source.size:
            return source
        self._parts[view] = Part(source, offset * DTYPES[type_.dtype].itemsize)
        return view

    def _add_output(self, buffer: Buffer) -> None:
        """Add the buffer of an output: itself, or a copy where it is no output's own memory."""
        own = buffer if self._is_free(buffer) else self._copied(buffer)
        self._outputs[own] = None

    def _join(self, sources: Sequence[Buffer], type_: TensorType) -> Buffer:
        """The buffer in which sources lie one after the other; copies of those that are fixed.

        All of these have sizes that are known.
        """
        whole = Buffer(type_, Origin.COMPUTED)
        offset = 0
        for source in sources:
            part = source if self._is_free(source) else self._copied(source)
            self._parts[part] = Part(whole, offset)
            offset += part.known_size
        return whole

    def _is_free(self, buffer: Buffer) -> bool:
        """Whether it is still open where a buffer lies."""
        is_own = buffer not in self._outputs and buffer not in self._parts
        return is_own and buffer.origin is Origin.COMPUTED

    def _copied(self, buffer: Buffer) -> Buffer:
        copied = Buffer(buffer.type, Origin.COMPUTED)
        self._runs.append(KernelRun(_copy_of(buffer.type), (buffer,), (copied,)))
        return copied


def _resolved(parts: Mapping[Buffer, Part]) -> dict[Buffer, Part]:
    """Parts of parts as parts of what these lie in; linear, however deep they are nested."""
    found: dict[Buffer, Part] = {}
    for buffer in parts:
        path: list[Buffer] = []
        while buffer in parts and buffer not in found:
            path.append(buffer)
            buffer = parts[buffer].whole
        for inner in reversed(path):
            part = parts[inner]
            outer = found.get(part.whole, Part(part.whole, 0))
            found[inner] = Part(outer.whole, outer.offset + part.offset)
    return found


@cache
def _copy_of(type_: TensorType) -> Function:
    """The function that copies a tensor; one for all regions, so that they share its code."""
    source = Var("p0", type_, type=type_)
    return Function((source,), source, type=FuncType((type_,), type_))
