"""A primitive with its schedule applied: the kernels to compile and the buffers they want."""

from __future__ import annotations

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.packing import PackedConstant
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.loops import Kernel
from relay_tune.tensor.program import TensorProgram


@dataclass(frozen=True, eq=False, slots=True)
class ScheduledProgram:
    """What `apply_schedule` gives.

    Attributes:
        program: the tensor program; its inputs, outputs and constants are kernel arguments.
        kernels: to be run in this order, with a barrier of all threads between two.
        packed: constants in the kernels' own order, made from the program's at build time.
        workspace: tensors that live from one kernel to a later one.
        algorithm: where the stages of the program come from.
    """

    program: TensorProgram
    kernels: tuple[Kernel, ...]
    packed: tuple[PackedConstant, ...]
    workspace: tuple[Tensor, ...]
    algorithm: AppliedAlgorithm
