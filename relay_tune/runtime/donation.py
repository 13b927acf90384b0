"""Inputs whose memory may become that of outputs, in one call."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from relay_tune.arguments import whole_number
from relay_tune.errors import InputError
from relay_tune.ir.dim import Dim, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import substitute, subtract, symbol_names
from relay_tune.ir.types import TensorType
from relay_tune.program.kinds import component_types
from relay_tune.program.program import EntryPoint, InPlaceOutput
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.row_memory import RowMemory

DONATE_REMEDY = (
    'Name inputs: donate=("cache",), or donate={"cache": 1024} with rows to make room for.'
)


def donated_rows(donate: object, inputs: Mapping[str, object]) -> dict[str, int]:
    """The donated inputs by name with the rows that there should be room for, 0 for any.

    Raises InputError where something else than inputs is named.
    """
    if isinstance(donate, str) or not isinstance(donate, Mapping | Sequence | frozenset | set):
        raise InputError(
            f"donate is {donate!r}, but must be names of inputs.", remedy=DONATE_REMEDY
        )
    listed = donate.items() if isinstance(donate, Mapping) else ((name, 0) for name in donate)
    found: dict[str, int] = {}
    for name, rows in listed:
        if not isinstance(name, str) or name not in inputs:
            raise InputError(
                f"There is no input {name!r} that could be donated.",
                notes=(f"The inputs are: {', '.join(inputs)}.",),
                remedy=DONATE_REMEDY,
            )
        found[name] = whole_number(rows, f"The number of rows for {name!r}", 0)
    return found


@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """Memory for an output, the output in it, and how many rows this has."""

    memory: RowMemory
    array: np.ndarray
    rows: int


NO_STORES: Mapping[int, np.ndarray] = MappingProxyType({})
NOTHING_GIVEN: Mapping[int, RowMemory] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ContinuedInput:
    """An input that an output may continue.

    Attributes:
        name: of the input.
        index: its position among the inputs.
        output: the number of the output.
        axis: along which there are more rows.
        added: how many more.
        symbols: where the sizes that this depends on are read: input and axis.
        number: of how much is added: equal ones have equal numbers.
    """

    name: str
    index: int
    output: int
    axis: int
    added: Dim
    symbols: Mapping[str, tuple[int, int]]
    number: int

    def rows(self, inputs: Sequence[np.ndarray]) -> int:
        """How many rows there are more for inputs in order."""
        sizes = {name: inputs[n].shape[axis] for name, (n, axis) in self.symbols.items()}
        added = self.added if isinstance(self.added, int) else substitute(self.added, sizes)
        assert isinstance(added, int)  # all symbols have values
        return added

    def shape(self, inputs: Sequence[np.ndarray], rows: int) -> tuple[int, ...]:
        """The shape of the output with so many more rows."""
        shape, axis = inputs[self.index].shape, self.axis
        return (*shape[:axis], shape[axis] + rows, *shape[axis + 1 :])


def continued_inputs(entry: EntryPoint) -> tuple[ContinuedInput, ...]:
    """The inputs that outputs may continue, where the sizes of the inputs tell by how much."""
    types = list(entry.inputs.values())
    if not all(isinstance(type_, TensorType) for type_ in types):
        return ()
    outputs = list(component_types(entry.output))
    sources = {
        dim.name: (index, axis)
        for index, type_ in enumerate(types)
        if isinstance(type_, TensorType)
        for axis, dim in enumerate(type_.shape)
        if isinstance(dim, Symbol)
    }
    found: list[ContinuedInput] = []
    additions: list[Dim] = []
    for each in entry.appended:
        old, new = types[each.input], outputs[each.output]
        assert isinstance(old, TensorType) and isinstance(new, TensorType)
        dims = old.shape[each.axis], new.shape[each.axis]
        if any(isinstance(dim, UnknownDim) for dim in dims):
            continue
        added = subtract(dims[1], dims[0])
        symbols = symbol_names(added)
        if symbols <= sources.keys():
            name = list(entry.inputs)[each.input]
            needed = {symbol: sources[symbol] for symbol in symbols}
            if added not in additions:
                additions.append(added)
            number = additions.index(added)
            found.append(
                ContinuedInput(name, each.input, each.output, each.axis, added, needed, number)
            )
    return tuple(found)


def in_place_inputs(
    pairs: Iterable[InPlaceOutput],
    values: Mapping[str, object],
    inputs: Sequence[np.ndarray],
    addresses: Sequence[int],
    rows: Mapping[str, int],
    given: Mapping[int, RowMemory] = NOTHING_GIVEN,
) -> dict[int, int]:
    """The numbers of the donated inputs whose arrays are the memory of outputs, by their numbers.

    `inputs` are the `values` as they are read, and lie at `addresses`. An array that had to be
    copied is none of them, nor is one that shares memory with another input, or whose memory is
    given to an output that continues it.
    """
    found: dict[int, int] = {}
    pairs = tuple(pairs)
    if not pairs or len(inputs) != len(values):  # some are no tensors
        return found
    donated = [value if name in rows else None for name, value in values.items()]
    apart = _apart_from_others(inputs, addresses)
    for pair in pairs:
        array = inputs[pair.input]
        is_given = donated[pair.input] is array and array.flags.carray
        is_free = pair.output not in found and pair.input not in given
        if is_given and is_free and pair.input in apart:
            found[pair.output] = pair.input
            apart.remove(pair.input)
    return found


def _apart_from_others(arrays: Sequence[np.ndarray], addresses: Sequence[int]) -> set[int]:
    """The numbers of the contiguous arrays whose memory no other one has a part of."""
    sizes = [array.nbytes for array in arrays]
    spans = sorted(
        (start, start + size, number)
        for number, (start, size) in enumerate(zip(addresses, sizes, strict=True))
        if size
    )
    apart = {number for number, size in enumerate(sizes) if not size}
    starts = [*(start for start, _, _ in spans), math.inf]
    reached = 0
    for (start, end, number), following in zip(spans, starts[1:], strict=True):
        if reached <= start and end <= following:
            apart.add(number)
        reached = max(reached, end)
    return apart


class Donation:
    """The inputs that are donated in a call.

    Attributes:
        given: the memory of arrays that are continued where they are, by the numbers of inputs:
            there may be spaces between their slices.
    """

    def __init__(
        self,
        continued: Sequence[ContinuedInput],
        values: Mapping[str, object],
        rows: Mapping[str, int],
    ) -> None:
        self._continued = [each for each in continued if each.name in rows]
        self._rows = rows
        self.given: dict[int, RowMemory] = {}
        for each in self._continued:
            value = values.get(each.name)
            memory = RowMemory.taken(value, each.axis) if type(value) is np.ndarray else None
            if memory is not None:
                self.given[each.index] = memory

    def stores(self, inputs: Sequence[np.ndarray]) -> dict[int, Store]:
        """The memory of outputs by number; an input in too little memory moves to other."""
        found: dict[int, Store] = {}
        rows: dict[int, int] = {}
        for each in self._continued:
            if each.number not in rows:
                rows[each.number] = each.rows(inputs)
            old = inputs[each.index]
            shape = each.shape(inputs, rows[each.number])
            memory = self.given.get(each.index)
            if memory is None or memory.room < shape[each.axis]:
                moved = RowMemory.new(shape, each.axis, old.dtype, self._rows[each.name])
                if memory is not None:
                    moved.array(old.shape, old.dtype)[...] = old
                    self.given[each.index] = moved
                memory = moved
            found[each.output] = Store(memory, memory.array(shape, old.dtype), shape[each.axis])
        return found

    @staticmethod
    def end(stores: Mapping[int, Store]) -> None:
        """Note the rows that are in use after a run."""
        for store in stores.values():
            store.memory.used = store.rows
