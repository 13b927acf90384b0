"""Writing down the kernels of a region one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from relay_tune.first_order.region import Buffer, KernelRun, Origin, Part, Region
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function, Var
from relay_tune.ir.types import FuncType, TensorType
from relay_tune.op.primitive_views import is_join, view_offset


class RegionBuilder:
    """A region under construction."""

    def __init__(self) -> None:
        self._inputs: list[Buffer] = []
        self._outputs: dict[Buffer, None] = {}
        self._runs: list[KernelRun] = []
        self._parts: dict[Buffer, Part] = {}
        self._constants: dict[int, Buffer] = {}

    def add_input(self, type_: TensorType) -> Buffer:
        """A buffer that the caller has filled."""
        buffer = Buffer(type_, Origin.INPUT)
        self._inputs.append(buffer)
        return buffer

    def constant(self, data: np.ndarray) -> Buffer:
        """The buffer of a constant; the same for the same array."""
        if id(data) not in self._constants:
            type_ = TensorType(data.shape, data.dtype.name)
            self._constants[id(data)] = Buffer(type_, Origin.CONSTANT, data)
        return self._constants[id(data)]

    def run(
        self, function: Function, inputs: Sequence[Buffer], types: Sequence[TensorType]
    ) -> tuple[Buffer, ...]:
        """The buffers of the results of a primitive, which have these types."""
        offset = view_offset(function)
        if offset is not None and len(inputs) == len(types) == 1:
            return (self.view(inputs[0], offset, types[0]),)
        if is_join(function):
            return (self._join(inputs, types[0]),)
        outputs = tuple(Buffer(type_, Origin.COMPUTED) for type_ in types)
        self._runs.append(KernelRun(function, tuple(inputs), outputs))
        return outputs

    def view(self, source: Buffer, offset: int, type_: TensorType) -> Buffer:
        """A piece of a buffer, from an element on; with its size, the buffer itself."""
        view = Buffer(type_, Origin.COMPUTED)
        if view.size == source.size:
            return source
        self._parts[view] = Part(source, offset * DTYPES[type_.dtype].itemsize)
        return view

    def add_output(self, buffer: Buffer) -> Buffer:
        """The buffer of an output: itself, or a copy where it is no output's own memory."""
        own = buffer if self._is_free(buffer) else self._copied(buffer)
        self._outputs[own] = None
        return own

    def region(self) -> Region:
        """What was written down."""
        inputs, outputs = tuple(self._inputs), tuple(self._outputs)
        return Region(inputs, outputs, tuple(self._runs), _resolved(self._parts))

    def _join(self, sources: Sequence[Buffer], type_: TensorType) -> Buffer:
        """The buffer in which sources lie one after the other; copies of those that are fixed."""
        whole = Buffer(type_, Origin.COMPUTED)
        offset = 0
        for source in sources:
            part = source if self._is_free(source) else self._copied(source)
            self._parts[part] = Part(whole, offset)
            offset += part.size
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
