"""How native code makes the result of a call, and the memory that it needs for that."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import chain, count

import numpy as np

from relay_tune.codegen.direct.words import Call, Layout, StepKind
from relay_tune.codegen.word_table import WORD
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.program.kinds import component_types, is_open_type
from relay_tune.program.program import (
    ConstructorLayout,
    DataTypes,
    FirstOrderProgram,
    types_within,
)
from relay_tune.runtime.call_inputs import address_of
from relay_tune.runtime.direct.code import Words, new_words
from relay_tune.runtime.interpreter.values import ConstructorValue, value_of_nothing

FIRST_OBJECTS = 256
"""For how many objects there is room at first."""


class Results:
    """The steps that make the result of a program and the values in it, and room for them."""

    def __init__(
        self, call: Words, type_: Type, program: FirstOrderProgram | None, outputs: int
    ) -> None:
        """The type must be one that `can_make` allows; `outputs` is the address of the table."""
        self._call = call
        self._kept: list[object] = []
        made = [] if program is None else _reached(type_, program)
        self._width = max((len(each.layout.fields) for each in made), default=0)
        steps = self._describe_result(type_, outputs)
        layout_steps = self._describe_layouts(made)
        call[Call.VALUES] = self._keep(new_words(max(steps, layout_steps)))
        call[Call.WIDTH] = self._width
        self._make_room(FIRST_OBJECTS if made else 0)

    def make_more_room(self) -> None:
        """Twice the room that there is."""
        self._make_room(2 * self._numbers.size)

    def give_room_back(self) -> None:
        """Give back much room, after it was used."""
        if self._numbers.size > FIRST_OBJECTS:
            self._make_room(FIRST_OBJECTS)

    def _make_room(self, objects: int) -> None:
        """Room to describe so many objects."""
        self._numbers = np.empty(objects, np.int64)
        self._rows = np.empty((objects, self._width), np.int64)
        self._made = np.empty(objects, np.uint64)
        self._call[Call.ROW_ROOM] = objects
        self._call[Call.NUMBERS] = address_of(self._numbers)
        self._call[Call.ROWS] = address_of(self._rows)
        self._call[Call.MADE] = address_of(self._made)

    def _describe_result(self, type_: Type, outputs: int) -> int:
        """Fill the words of outputs and of the steps of the result; how many steps there are."""
        parts = dict(enumerate(component_types(type_)))
        data = [n for n, part in parts.items() if not isinstance(part, TensorType)]
        opened = [n for n, part in parts.items() if is_open_type(part)]
        fixed = [n for n in parts if n not in {*data, *opened}]
        positions = {number: index for index, number in enumerate((*data, *opened, *fixed))}
        cells = self._keep(new_words(len(data) + len(opened)))
        row = self._keep(new_words(len(parts)))
        table = (ctypes.c_uint64 * len(parts)).from_address(outputs)
        for number in (*data, *opened):
            table[number] = cells + WORD * positions[number]
        written = [
            (outputs + WORD * n, row + WORD * positions[n], *self._array_words(parts[n]))
            for n in fixed
        ]
        steps = list(self._steps(type_, iter([positions[n] for n in parts]), is_result=True))
        words = {
            Call.FIXED: self._table(written),
            Call.FIXED_COUNT: len(fixed),
            Call.CELLS: cells,
            Call.CELL_COUNT: len(data) + len(opened),
            Call.DATA_COUNT: len(data),
            Call.ROW: row,
            Call.STEPS: self._table(steps),
            Call.STEP_COUNT: len(steps),
        }
        for word, value in words.items():
            self._call[word] = value
        return len(steps)

    def _describe_layouts(self, made: list[ConstructorLayout]) -> int:
        """Fill the words of the layouts; the number of steps of the one that has most."""
        size = len(Layout) * (1 + max((each.layout.number for each in made), default=0))
        words, most = new_words(size), 0
        self._call[Call.LAYOUTS] = self._keep(words)
        for each in made:
            steps = list(self._steps(TupleType(each.fields), count()))
            most = max(most, len(steps))
            static = ConstructorValue(each.constructor, tuple(map(value_of_nothing, each.fields)))
            self._kept += [each.constructor, static]
            start = len(Layout) * each.layout.number
            words[start : start + len(Layout)] = [
                id(each.constructor),
                self._table(steps),
                len(steps),
                0 if each.layout.fields else id(static),
            ]
        return most

    def _steps(
        self, type_: Type, slots: Iterator[int], is_result: bool = False
    ) -> Iterator[tuple[int, ...]]:
        """The words of the steps that make a value; each component has the next slot."""
        match type_:
            case TupleType():
                for field in type_.fields:
                    yield from self._steps(field, slots, is_result)
                yield StepKind.TUPLE, len(type_.fields), 0, 0, 0, 0
            case TensorType() if is_result and not is_open_type(type_):
                yield StepKind.ARRAY, next(slots), 0, 0, 0, 0
            case TensorType():
                kind = StepKind.TENSOR if type_.shape else StepKind.SCALAR
                bytes_ = DTYPES[type_.dtype].itemsize
                yield kind, next(slots), *self._array_words(type_), bytes_
            case _:
                yield StepKind.OBJECT, next(slots), 0, 0, 0, 0

    def _array_words(self, type_: Type) -> tuple[int, int, int]:
        """Element type, rank, and the address of the sizes; 0 where they are open."""
        assert isinstance(type_, TensorType)
        sizes = new_words(len(type_.shape), [dim for dim in type_.shape if isinstance(dim, int)])
        address = 0 if is_open_type(type_) else self._keep(sizes)
        return id(DTYPES[type_.dtype]), len(type_.shape), address

    def _table(self, rows: Sequence[tuple[int, ...]]) -> int:
        """The address of the words of all rows."""
        words = list(chain.from_iterable(rows))
        return self._keep(new_words(len(words), words))

    def _keep(self, words: Words) -> int:
        """The address of words that must stay."""
        self._kept.append(words)
        return ctypes.addressof(words)


def can_make(type_: Type, program: FirstOrderProgram | None) -> bool:
    """Whether native code can make values of a type: all but references and functions."""
    data_types: DataTypes = {} if program is None else program.data_types
    return all(
        isinstance(part, TensorType | TupleType) or part in data_types
        for part in types_within(type_, data_types)
    )


def _reached(type_: Type, program: FirstOrderProgram) -> list[ConstructorLayout]:
    """The constructors of all values in a value of a type."""
    types = types_within(type_, program.data_types)
    return [made for part in types for made in program.data_types.get(part, ())]
