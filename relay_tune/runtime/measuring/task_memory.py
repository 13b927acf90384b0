"""The worker's memory of tasks: their data, and packed constants.

A tuning run goes from task to task and comes back. What was handed over or packed before is kept as
far as memory allows.
"""

from __future__ import annotations

import os

from relay_tune.runtime.aligned_memory import as_bytes
from relay_tune.runtime.large_pages import large_page_bytes
from relay_tune.runtime.measuring.guarded_buffer import GuardedBuffer, guarded_buffers
from relay_tune.runtime.measuring.inputs import Array, MeasureInputs
from relay_tune.runtime.measuring.paged_buffer import PagedBuffer
from relay_tune.schedule.packing import PackRecipe

MOST_HELD_BYTES = 1 << 30
HELD_SHARE = 1 / 8
"""Of the machine's memory."""


class TaskMemory:
    """The buffers of a task that is being measured."""

    def __init__(self, data: MeasureInputs) -> None:
        self.data = data
        buffers = guarded_buffers([array.nbytes for array in (*data.inputs, *data.expected)])
        self.inputs, self.outputs = buffers[: len(data.inputs)], buffers[len(data.inputs) :]
        for buffer, array in zip(self.inputs, data.inputs, strict=True):
            buffer.content[:] = as_bytes(array)
        self.checked_inputs = [PagedBuffer(array.nbytes) for array in data.inputs]
        self.checked_outputs = [PagedBuffer(array.nbytes) for array in data.expected]
        self._more_outputs: list[list[GuardedBuffer]] = []
        self._packed: dict[tuple[int, PackRecipe], Array] = {}

    @property
    def bytes(self) -> int:
        """How much memory this takes."""
        data = self.data
        given = sum(array.nbytes for array in (*data.inputs, *data.expected))
        second = 0 if data.second is None else given
        constants = sum(array.nbytes for array in (*data.constants, *self._packed.values()))
        constants += len(self._more_outputs) * sum(array.nbytes for array in data.expected)
        # Inputs and outputs have two buffers beside their data: to check in, and to time in.
        return 3 * given + second + constants

    def output_sets(self, count: int) -> list[list[GuardedBuffer]]:
        """`count` sets of output buffers, the first of which is `outputs`."""
        sizes = [array.nbytes for array in self.data.expected]
        if len(self._more_outputs) < count - 1:
            buffers = guarded_buffers(sizes * (count - 1))
            self._more_outputs = [
                buffers[first : first + len(sizes)] for first in range(0, len(buffers), len(sizes))
            ]
        return self.all_output_sets[:count]

    @property
    def all_output_sets(self) -> list[list[GuardedBuffer]]:
        """All sets of output buffers so far."""
        return [self.outputs, *self._more_outputs]

    def constant(self, index: int, recipe: PackRecipe | None) -> Array:
        """A constant in the order that a candidate wants, 64-byte aligned."""
        source = self.data.constants[index]
        if recipe is None:
            return source
        known = self._packed.pop((index, recipe), None)
        packed = known if known is not None else _packed(source, recipe)
        self._packed[index, recipe] = packed
        return packed

    def forget_packed(self, bytes_to_free: int) -> None:
        """Let go of packed constants, those first that were not used for the longest time."""
        freed = 0
        while self._packed and freed < bytes_to_free:
            freed += self._packed.pop(next(iter(self._packed))).nbytes


class HeldTasks:
    """The tasks whose data is at hand; at most `most_bytes`, but always the one in use."""

    def __init__(self, most_bytes: int | None = None) -> None:
        self._most_bytes = held_bytes() if most_bytes is None else most_bytes
        self._tasks: dict[str, TaskMemory] = {}

    @property
    def names(self) -> list[str]:
        """Of the tasks."""
        return list(self._tasks)

    def put(self, name: str, data: MeasureInputs) -> None:
        """Hold the data of a task, from now on the one in use."""
        self._tasks.pop(name, None)
        self._tasks[name] = TaskMemory(data)
        self.shrink()

    def use(self, name: str) -> TaskMemory:
        """A task that is held, from now on the one in use."""
        self._tasks[name] = self._tasks.pop(name)
        return self._tasks[name]

    def shrink(self) -> None:
        """Let go of what was not used for the longest time, as far as there is too much."""
        while (excess := self._excess()) > 0 and len(self._tasks) > 1:
            oldest = next(iter(self._tasks))
            self._tasks[oldest].forget_packed(excess)
            if self._excess() > 0:
                del self._tasks[oldest]
        if excess > 0:
            self._tasks[self.names[-1]].forget_packed(excess)

    def _excess(self) -> int:
        return sum(task.bytes for task in self._tasks.values()) - self._most_bytes


def held_bytes() -> int:
    """How much the worker may hold on this machine."""
    if "SC_PHYS_PAGES" not in os.sysconf_names:
        return MOST_HELD_BYTES
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(MOST_HELD_BYTES, int(HELD_SHARE * memory))


def _packed(source: Array, recipe: PackRecipe) -> Array:
    memory = large_page_bytes(recipe.size * source.itemsize)
    packed: Array = memory.view(source.dtype).reshape(recipe.shape)
    recipe.pack_into(packed, source)
    return packed
