"""From a task and a schedule to code that can be measured."""

from __future__ import annotations

from math import prod

from relay_tune.codegen.kernel_calls import BufferAddress, call_of
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.main_function import main_text
from relay_tune.codegen.repeat_function import MEASURED_SYMBOL
from relay_tune.codegen.target import Target
from relay_tune.ir.dtypes import DTYPES
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.measuring.message import Slot, SlotKind
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.size import nominal
from relay_tune.tensor.touched import has_parallel_loop
from relay_tune.tuning.tasks import Task


@dataclass(frozen=True, eq=False, slots=True)
class CandidateText:
    """A candidate before compilation.

    Attributes:
        modules: LLVM modules.
        slots: what its table of addresses holds.
        is_serial: whether one thread does all of its work.
    """

    modules: tuple[str, ...]
    slots: tuple[Slot, ...]
    is_serial: bool


def candidate_text(task: Task, schedule: Schedule, target: Target) -> CandidateText:
    """The code of a task under a schedule; its main function is `MEASURED_SYMBOL`.

    Raises BuildError where there is none, or where it would depend on what dynamic sizes are.
    """
    scheduled = apply_schedule(task.plan, schedule)
    kernels = [module_text([kernel], target) for kernel in scheduled.kernels]
    slots = _slots(scheduled)
    positions = {tensor: BufferAddress(slot) for slot, tensor in enumerate(slots)}
    numbers = {name: len(slots) + n for n, name in enumerate(task.sizes)}
    sizes = {packed.tensor: packed.recipe.size for packed in scheduled.packed}
    sizes |= {source: data.size for source, data in scheduled.program.constants}
    calls = [
        call_of(
            kernel,
            [positions[tensor] for tensor in kernel.arguments],
            {
                positions[tensor]: sizes[tensor] * DTYPES[tensor.dtype].itemsize
                for tensor in kernel.arguments
                if tensor in sizes
            },
            [numbers[name] for name in kernel.sizes],
        )
        for kernel in scheduled.kernels
    ]
    main = main_text(MEASURED_SYMBOL, calls, target.triple)
    modules = (*kernels, main)
    is_serial = not any(has_parallel_loop(kernel.body) for kernel in scheduled.kernels)
    given = (Slot(SlotKind.SIZE, size) for size in task.sizes.values())
    return CandidateText(modules, (*slots.values(), *given), is_serial)


def _slots(scheduled: ScheduledProgram) -> dict[Tensor, Slot]:
    """A slot for each tensor that the kernels are called with."""
    program = scheduled.program
    slots: dict[Tensor, Slot] = {}
    for index, given in enumerate(program.inputs):
        slots[given] = Slot(SlotKind.INPUT, index)
    numbers: dict[Tensor, int] = {}
    for index, (source, _) in enumerate(program.constants):
        numbers[source] = index
        slots[source] = Slot(SlotKind.CONSTANT, index)
    for packed in scheduled.packed:
        slots[packed.tensor] = Slot(SlotKind.CONSTANT, numbers[packed.source], recipe=packed.recipe)
    for tensor in scheduled.workspace:
        size = nominal(prod(tensor.shape)) * DTYPES[tensor.dtype].itemsize
        slots[tensor] = Slot(SlotKind.SCRATCH, bytes=size)
    for index, output in enumerate(program.outputs):
        slots[output] = Slot(SlotKind.OUTPUT, index)
    return slots
