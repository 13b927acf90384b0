"""Where the buffers of a region and the arguments of its kernels lie.

A region's kernels are called with a table of addresses: its inputs, its outputs, its workspace and
the program's constants. Intermediate tensors have offsets in the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

from relay_tune.building.constant_block import ConstantBlock
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import PrimitiveCode
from relay_tune.codegen.main_function import KernelCall, Place, call_of
from relay_tune.first_order.region import Buffer, KernelRun, Origin, Region
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function
from relay_tune.runtime.memory_plan import Lifetime, plan_memory
from relay_tune.tensor.deferred_array import ConstantData
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram


class RegionLayout:
    """The memory of a region whose primitives are compiled.

    Attributes:
        codes: the code of each run.
        constants: all constants of the program; those of the region enter as they are asked for.
        workspace_bytes: memory for intermediate tensors.
    """

    def __init__(
        self,
        region: Region,
        primitives: Mapping[Function, Primitive],
        codes: Mapping[str, PrimitiveCode],
        constants: ConstantBlock,
        kept: Iterable[Buffer] = (),
    ) -> None:
        """`kept` are buffers that are read when all kernels have run."""
        self._primitives = [primitives[run.function] for run in region.runs]
        self.codes = [codes[primitive.key.digest] for primitive in self._primitives]
        self.constants = constants
        self._region = region
        self._slots = {b: n for n, b in enumerate((*region.inputs, *region.outputs))}
        self._offsets: dict[object, int] = {}
        self.workspace_bytes = self._plan(kept)

    def place(self, buffer: Buffer) -> Place:
        """Where a buffer lies."""
        located = self._region.located(buffer)
        whole = located.whole
        if whole in self._slots:
            return Place(self._slots[whole], located.offset)
        if whole.data is not None:
            return self.constant(self.constants.add(whole.data) + located.offset)
        return Place(self._workspace_slot, self._offsets[whole] + located.offset)

    def workspace(self, run: int, tensor: Tensor) -> Place:
        """Where a tensor of a run's own workspace lies."""
        return Place(self._workspace_slot, self._offsets[run, tensor])

    def constant(self, offset: int) -> Place:
        """A place in the block of constants."""
        return Place(self._workspace_slot + 1, offset)

    def calls(self, number: int) -> tuple[KernelCall, ...]:
        """The kernels of a run with their arguments."""
        run, program = self._region.runs[number], self._primitives[number].program
        places = _RunPlaces(number, run, program, self)
        return tuple(
            call_of(
                kernel,
                [places.of(argument) for argument in kernel.arguments],
                {
                    places.of(a): size
                    for a in kernel.arguments
                    if (size := places.constant_bytes(a))
                },
            )
            for kernel in self.codes[number].scheduled.kernels
        )

    @property
    def _workspace_slot(self) -> int:
        return len(self._slots)

    def _plan(self, kept: Iterable[Buffer]) -> int:
        """Give every intermediate tensor an offset; the bytes of all."""
        runs = self._region.runs
        lifetimes: dict[object, Lifetime] = {}
        for number, run in enumerate(runs):
            for buffer in self._intermediate((*run.inputs, *run.outputs)):
                known = lifetimes.get(buffer)
                first = number if known is None else known.first
                lifetimes[buffer] = Lifetime(buffer.size, first, number)
            for tensor in self.codes[number].scheduled.workspace:
                size = prod(tensor.shape) * DTYPES[tensor.dtype].itemsize
                lifetimes[number, tensor] = Lifetime(size, number, number)
        for buffer in self._intermediate(kept):
            lifetimes[buffer] = replace(lifetimes[buffer], last=len(runs) - 1)
        plan = plan_memory(list(lifetimes.values()))
        self._offsets = dict(zip(lifetimes, plan.offsets, strict=True))
        return plan.total

    def _intermediate(self, buffers: Iterable[Buffer]) -> Sequence[Buffer]:
        """The buffers of their own memory that are neither given nor results."""
        wholes = dict.fromkeys(self._region.located(buffer).whole for buffer in buffers)
        return [b for b in wholes if b.origin is Origin.COMPUTED and b not in self._slots]


class _RunPlaces:
    """Where the kernel arguments of a run lie.

    The kernels name the tensors of the first primitive of their key; a run has its own buffers and
    constants, which correspond by position.
    """

    def __init__(
        self, number: int, run: KernelRun, program: TensorProgram, layout: RegionLayout
    ) -> None:
        self._number = number
        self._layout = layout
        scheduled = layout.codes[number].scheduled
        written = scheduled.program
        self._buffers: dict[Tensor, Buffer] = {}
        self._buffers.update(zip(written.inputs, run.inputs, strict=True))
        self._buffers.update(zip(written.outputs, run.outputs, strict=True))
        self._constants: dict[Tensor, ConstantData] = {}
        own = scheduled.algorithm.prepared(program).constants
        for (tensor, _), (_, data) in zip(written.constants, own, strict=True):
            self._constants[tensor] = data
        self._packed = {packed.tensor: packed for packed in scheduled.packed}

    def of(self, tensor: Tensor) -> Place:
        """The place of a kernel's argument."""
        layout = self._layout
        if tensor in self._buffers:
            return layout.place(self._buffers[tensor])
        if tensor in self._constants:
            return layout.constant(layout.constants.add(self._constants[tensor]))
        packed = self._packed.get(tensor)
        if packed is None:
            return layout.workspace(self._number, tensor)
        data = self._constants[packed.source]
        return layout.constant(layout.constants.add(data, packed.recipe))

    def constant_bytes(self, tensor: Tensor) -> int:
        """The bytes of an argument that is a constant, as the kernel reads it; else 0."""
        packed = self._packed.get(tensor)
        if packed is not None:
            return packed.recipe.size * self._constants[packed.source].itemsize
        return self._constants[tensor].nbytes if tensor in self._constants else 0
