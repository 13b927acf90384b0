"""Where the arguments of a primitive's kernels lie: its inputs, outputs, constants, workspace."""

from __future__ import annotations

from relay_tune.building.constant_block import ConstantBlock
from relay_tune.codegen.programs.kernel_step import Argument, Source
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.tensor.deferred_array import ConstantData
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram


class KernelArguments:
    """The arguments of the kernels of one primitive.

    The kernels name the tensors of the first primitive of their key; another one has its own
    constants, which correspond by position. Constants are packed as the kernels want them.
    """

    def __init__(
        self, program: TensorProgram, scheduled: ScheduledProgram, constants: ConstantBlock
    ) -> None:
        self._constants = constants
        written = scheduled.program
        self._places: dict[Tensor, Argument] = {}
        for source, tensors in (
            (Source.INPUT, written.inputs),
            (Source.OUTPUT, written.outputs),
            (Source.WORKSPACE, scheduled.workspace),
        ):
            self._places |= {tensor: Argument(source, n) for n, tensor in enumerate(tensors)}
        self._data: dict[Tensor, ConstantData] = {}
        own = scheduled.algorithm.prepared(program).constants
        for (tensor, _), (_, data) in zip(written.constants, own, strict=True):
            self._data[tensor] = data
        self._packed = {packed.tensor: packed for packed in scheduled.packed}

    def of(self, tensor: Tensor) -> Argument:
        """Where a kernel's argument lies; a constant enters the block when it is asked for."""
        known = self._places.get(tensor)
        if known is not None:
            return known
        packed = self._packed.get(tensor)
        if packed is None:
            offset = self._constants.add(self._data[tensor])
        else:
            offset = self._constants.add(self._data[packed.source], packed.recipe)
        return Argument(Source.CONSTANT, offset)

    def constant_bytes(self, tensor: Tensor) -> int:
        """The bytes of an argument that is a constant, as the kernel reads it; else 0."""
        packed = self._packed.get(tensor)
        if packed is not None:
            return packed.recipe.size * self._data[packed.source].itemsize
        return self._data[tensor].nbytes if tensor in self._data else 0
