"""The expected arguments of a call as words for native code, and their memory."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import count

import numpy as np

from relay_tune.codegen.direct.words import Call, ConstructorForm, FormKind, LeafForm, ListForm
from relay_tune.codegen.programs.build_values import FIRST_LEAF, LeafColumn
from relay_tune.codegen.word_table import WORD
from relay_tune.ir.dim import Dim, Symbol, UnknownDim
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.program.kinds import is_open_type
from relay_tune.program.program import FirstOrderProgram, types_within
from relay_tune.runtime.call_inputs import address_of
from relay_tune.runtime.direct.code import Words, new_words
from relay_tune.runtime.leaf_words import Leaf

FIRST_PARTS = 256
"""For how many parts there is room at first."""

FIRST_BYTES = 1 << 16
"""How many bytes of elements of each kind there is room for at first."""

KEPT_BYTES = 16 << 20
"""More room than this is given back after use."""


class Arguments:
    """The forms of the arguments of a program, and room to describe their values.

    A type's parts in values of data types have one form each, wherever they stand; an argument, or
    a field of one that is a tuple, has a form of its own, which knows its index among the inputs.
    """

    def __init__(
        self, call: Words, types: Sequence[Type], program: FirstOrderProgram | None, inputs: int
    ) -> None:
        """The types must be such as `can_read` allows; `inputs` is the address of the table."""
        self._call = call
        self._program = program
        self._kept: list[object] = []
        self._constructors: list[tuple[Words, int]] = []
        self._parts: dict[Type, Words] = {}
        self._leaves: list[Leaf] = []
        self._leaf_forms: list[Words] = []
        self._slots = count(inputs, WORD)
        self._positions: list[int] = []
        self._symbols: dict[Dim, int] = {}
        self._symbol_numbers = count()
        forms = self._addresses([self._argument(type_) for type_ in types])
        symbols = new_words(next(self._symbol_numbers))
        positions = new_words(len(self._positions), reversed(self._positions))
        width = len(LeafColumn)
        self._ends = new_words(width * len(self._leaves))
        for number, leaf in enumerate(self._leaves):
            self._ends[width * number + 1 : width * (number + 1)] = list(leaf.words)
        self._starts = new_words(len(self._leaves))
        self._kept += [symbols, positions]
        words = {
            Call.ARGUMENT_COUNT: len(types),
            Call.FORMS: forms,
            Call.LEAVES: ctypes.addressof(self._ends),
            Call.LEAF_COUNT: len(self._leaves),
            Call.STARTS: ctypes.addressof(self._starts),
            Call.SYMBOLS: ctypes.addressof(symbols),
            Call.SYMBOL_COUNT: len(symbols),
            Call.PLACES: ctypes.addressof(positions),
            Call.PLACE_COUNT: len(self._positions),
        }
        for word, value in words.items():
            call[word] = value
        parts = FIRST_PARTS if self._parts else sum(map(_component_count, types)) + 1
        self._make_room(parts, FIRST_BYTES)

    def __del__(self) -> None:
        for words, offset in self._constructors:
            ctypes.pythonapi.Py_DecRef(ctypes.cast(words[offset], ctypes.py_object))

    def make_more_room(self) -> None:
        """Twice the room that there is."""
        self._make_room(2 * self._codes.size, 2 * self._bytes)

    def give_room_back(self) -> None:
        """Give back much room, after it was used."""
        if self._bytes > KEPT_BYTES:
            self._make_room(FIRST_PARTS, FIRST_BYTES)

    def _make_room(self, parts: int, size: int) -> None:
        """Room for so many parts, and so many bytes of elements of each kind of leaf."""
        self._bytes = size
        self._codes, self._pairs = np.empty(parts, np.uint16), np.empty((parts, 2), np.uint64)
        self._call[Call.CODES] = address_of(self._codes)
        self._call[Call.PAIRS] = address_of(self._pairs)
        self._call[Call.CODE_ROOM] = self._call[Call.PAIR_ROOM] = parts
        self._columns = [np.empty(max(size, leaf.words[0]), np.uint8) for leaf in self._leaves]
        ends = ctypes.addressof(self._ends)
        for number, (form, column) in enumerate(zip(self._leaf_forms, self._columns, strict=True)):
            self._starts[number] = address_of(column)
            form[LeafForm.END_PLACE] = ends + WORD * len(LeafColumn) * number
            form[LeafForm.LIMIT] = address_of(column) + column.size

    def _argument(self, type_: Type) -> Words:
        """The form of an argument, or of a field of one."""
        match type_:
            case TensorType():
                slot = next(self._slots)
                found = new_words(len(type_.shape))
                opened = is_open_type(type_)
                if opened:
                    ctypes.c_uint64.from_address(next(self._slots)).value = ctypes.addressof(found)
                return self._new_form(
                    FormKind.INPUT,
                    *self._array_words(type_),
                    slot,
                    ctypes.addressof(found) if opened else 0,
                    kept=found,
                )
            case TupleType():
                fields = [self._argument(field) for field in type_.fields]
                return self._new_form(FormKind.TUPLE, len(fields), self._addresses(fields))
            case _:
                self._positions.append(next(self._slots))
                return self._part(type_)

    def _part(self, type_: Type) -> Words:
        """The form of parts of this type, which is made when it is first needed."""
        if type_ in self._parts:
            return self._parts[type_]
        match type_:
            case TensorType():
                form = self._parts[type_] = self._leaf(type_)
            case TupleType():
                fields = [self._part(field) for field in type_.fields]
                form = self._new_form(FormKind.TUPLE, len(fields), self._addresses(fields))
                self._parts[type_] = form
            case _:
                form = self._data(type_)
        return form

    def _leaf(self, type_: TensorType) -> Words:
        assert self._program is not None
        code = FIRST_LEAF + len(self._leaves)
        leaf = Leaf(type_, self._program)
        form = self._new_form(FormKind.LEAF, *self._array_words(type_), code, 0, 0, leaf.words[0])
        self._leaves.append(leaf)
        self._leaf_forms.append(form)
        return form

    def _data(self, type_: Type) -> Words:
        assert self._program is not None
        made = self._program.data_types[type_]
        width = len(ConstructorForm)
        unknown = [0] * (width * len(made))
        form = self._parts[type_] = self._new_form(FormKind.DATA, len(made), *unknown)
        for number, each in enumerate(made):
            fields = [self._part(field) for field in each.fields]
            name = ctypes.create_string_buffer(each.constructor.name.encode())
            self._kept.append(name)
            offset = ListForm.FORMS + width * number
            form[offset : offset + width] = [
                id(each.constructor),
                ctypes.addressof(name),
                each.layout.number,
                len(fields),
                self._addresses(fields),
            ]
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(each.constructor))
            self._constructors.append((form, offset))
        return form

    def _array_words(self, type_: TensorType) -> tuple[int, int, int]:
        """Element type, rank, and the address of the wanted sizes."""
        sizes = (ctypes.c_int64 * max(len(type_.shape), 1))(*map(self._wanted, type_.shape))
        self._kept.append(sizes)
        return id(DTYPES[type_.dtype]), len(type_.shape), ctypes.addressof(sizes)

    def _wanted(self, dim: Dim) -> int:
        """A size, or less than zero the number of a symbol; each `?` is one of its own."""
        if isinstance(dim, int):
            return dim
        if isinstance(dim, UnknownDim):
            return -1 - next(self._symbol_numbers)
        if dim not in self._symbols:
            self._symbols[dim] = next(self._symbol_numbers)
        return -1 - self._symbols[dim]

    def _new_form(self, *words: int, kept: object = None) -> Words:
        form = new_words(len(words), words)
        self._kept += [form, kept]
        return form

    def _addresses(self, forms: Sequence[Words]) -> int:
        table = new_words(len(forms), map(ctypes.addressof, forms))
        self._kept.append(table)
        return ctypes.addressof(table)


def can_read(type_: Type, program: FirstOrderProgram | None) -> bool:
    """Whether native code can read arguments of a type.

    It cannot where there are references, which may lead back to themselves, tensors of open sizes
    in values of data types, and arithmetic of sizes.
    """
    match type_:
        case TensorType():
            return all(isinstance(dim, int | Symbol | UnknownDim) for dim in type_.shape)
        case TupleType():
            return all(can_read(field, program) for field in type_.fields)
        case _:
            return program is not None and _can_describe(type_, program)


def _can_describe(type_: Type, program: FirstOrderProgram) -> bool:
    return all(
        (isinstance(part, TensorType | TupleType) or part in program.data_types)
        and not is_open_type(part)
        for part in types_within(type_, program.data_types)
    )


def _component_count(type_: Type) -> int:
    """How many parts of an argument of tensors wait at most."""
    return sum(map(_component_count, type_.fields)) + 1 if isinstance(type_, TupleType) else 1
