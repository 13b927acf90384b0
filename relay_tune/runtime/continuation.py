"""Steps that follow a step: donated inputs that are the results of the call before.

    out = model.run({"x": x, "past": past}, donate=("past",))      finds memory, checks all inputs
    out = model.run({"x": x, "past": out[1]}, donate=("past",))    the same memory with a row more

A decoder donates two caches for each layer, and between two steps nothing changes but their number
of rows. What the first step found out is kept, so that those behind it tell by one look at each
array that it is what was made in its memory, and write one size.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np

from relay_tune.ir.types import Type
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.donation import ContinuedInput
from relay_tune.runtime.row_memory import RowMemory, take_all

Words = ctypes.Array[ctypes.c_int64]


@dataclass(frozen=True, eq=False, slots=True)
class Link:
    """A donated input whose memory is that of a result.

    Attributes:
        input: the input, and what it becomes.
        memory: None when nobody has an array over it: it is not kept alive.
        sizes: where the program reads the sizes of the input, int64.
    """

    input: ContinuedInput
    memory: Callable[[], RowMemory | None]
    sizes: np.ndarray


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """The next step: memory that was taken for it, and what it makes of it.

    Attributes:
        memories: one for each link.
        rows: how many rows each of them has in use behind the step.
        arrays: the results that continue inputs, by the numbers of outputs.
    """

    memories: Sequence[RowMemory]
    rows: Sequence[int]
    arrays: Mapping[int, np.ndarray]

    def end(self) -> None:
        """Note the rows that are in use after a run."""
        for memory, rows in zip(self.memories, self.rows, strict=True):
            memory.used = rows


class Continuation:
    """What a call with donated inputs leaves for the next one.

    Attributes:
        rows: how many rows were asked for, by the names of donated inputs.
        words: the memory and the room of each output, as the program reads them.
        others: the numbers of the inputs that are no links.
        checked: the numbers of the inputs whose types have to be checked: the others, and one of
            all links whose types are equal.
    """

    def __init__(
        self, links: Sequence[Link], types: Sequence[Type], rows: Mapping[str, int], words: Words
    ) -> None:
        """`types` are of all inputs."""
        self.rows, self.words = rows, words
        groups: dict[object, list[Link]] = {}
        for link in links:
            each = link.input
            groups.setdefault((types[each.index], each.axis, each.number), []).append(link)
        self._groups = list(groups.values())
        self._links = list(chain.from_iterable(self._groups))
        linked = {link.input.index for link in links}
        self.others = [index for index in range(len(types)) if index not in linked]
        self.checked = sorted([*self.others, *(group[0].input.index for group in self._groups)])

    def are_given(self, values: Sequence[object]) -> bool:
        """Whether each link has the array that was made last in its memory; inputs are in order."""
        for link in self._links:
            memory = link.memory()
            last = None if memory is None else memory.last()
            if last is None or last is not values[link.input.index]:
                return False
        return True

    def step(self, inputs: Sequence[np.ndarray]) -> Step | None:
        """Take the memory of all links, which `are_given`, and write their sizes.

        None, and nothing is taken, where a memory has no room for more rows, or others in use.
        """
        memories: list[RowMemory] = []
        before: list[int] = []
        after: list[int] = []
        shapes: list[tuple[int, ...]] = []
        for group in self._groups:
            kind = group[0].input
            shape = inputs[kind.index].shape
            longer = kind.shape(inputs, kind.rows(inputs))
            for link in group:
                memory, array = link.memory(), inputs[link.input.index]
                if memory is None or memory.room < longer[kind.axis]:
                    return None
                if array.shape != shape or array.strides != memory.steps:
                    return None  # somebody has changed them in place
                memories.append(memory)
                before.append(shape[kind.axis])
                after.append(longer[kind.axis])
                shapes.append(longer)
        if not take_all(memories, before):
            return None
        arrays: dict[int, np.ndarray] = {}
        for link, memory, rows, shape in zip(self._links, memories, before, shapes, strict=True):
            link.sizes[link.input.axis] = rows
            arrays[link.input.output] = memory.array(shape, inputs[link.input.index].dtype)
        return Step(memories, after, arrays)
