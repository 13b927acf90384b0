"""The short way of a value into a native program: its objects are read by native code.

After a program that reads many weights, no object of Python is in the near caches. A walk in Python
touches several for each part of a value; native code touches the part itself
(`relay_tune.codegen.describe_text`). Values with a part that does not fit exactly are refused, and
take the long way, which converts it or says what is wrong.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from relay_tune.codegen.compiler import LoadedCode, compile_text
from relay_tune.codegen.describe_text import (
    DATA_TYPE,
    DESCRIBE_SYMBOL,
    LEAF,
    NO_ROOM,
    PYTHON_FUNCTIONS,
    SLOTS,
    TUPLE,
    describe_text,
)
from relay_tune.codegen.programs.build_text import FIRST_LEAF, LEAF_WORDS
from relay_tune.codegen.target import native_target
from relay_tune.first_order.kinds import is_open_type
from relay_tune.first_order.program import FirstOrderProgram
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Constructor
from relay_tune.ir.types import GlobalTypeVar, RefType, TensorType, TupleType, Type
from relay_tune.runtime.call_inputs import address_of
from relay_tune.runtime.direct_call import can_call_directly
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.runtime.leaf_words import Leaf

FIRST_PARTS = 256
"""For how many parts there is room at first."""

FIRST_BYTES = 1 << 16
"""How many bytes of elements of each kind there is room for at first."""

KEPT_BYTES = 16 << 20
"""More room than this is given back after use."""

WORD = 8
Words = ctypes.Array[ctypes.c_uint64]


Description = tuple[int, int, int, int]
"""A described value, as `NativeSession.build` takes it: the address of the codes, their number, the
addresses of the words of all kinds of leaves, and of room for a stack."""


class DirectDescription:
    """Describes values of one type, one at a time."""

    def __init__(self, type_: Type, program: FirstOrderProgram) -> None:
        """The type must be one that `can_describe` allows."""
        self._program = program
        self._kept: list[object] = []
        self._constructors: list[tuple[Words, int]] = []
        self._forms: dict[Type, Words] = {}
        self._leaves: list[Leaf] = []
        self._call = _words(5)
        self._call[0] = ctypes.addressof(self._form(type_))
        self._ends = _words(max(LEAF_WORDS * len(self._leaves), 1))
        for place, leaf in enumerate(self._leaves):
            self._ends[LEAF_WORDS * place + 1 : LEAF_WORDS * (place + 1)] = list(leaf.words)
        self._function = _describe_function()
        self._call_at, self._ends_at = ctypes.addressof(self._call), ctypes.addressof(self._ends)
        self._make_room(FIRST_PARTS, FIRST_BYTES)

    def __del__(self) -> None:
        for words, place in self._constructors:
            ctypes.pythonapi.Py_DecRef(ctypes.cast(words[place], ctypes.py_object))

    def describe(self, value: object) -> Description | None:
        """The description of a value, or None if a part of it is not exactly as wanted.

        Its memory is overwritten by the next one.
        """
        while True:
            for place, start in self._starts:
                self._ends[place] = start
            count = self._function(value, self._call_at)
            if count >= 0:
                return self._codes_at, count, self._ends_at, self._stack_at
            if count != NO_ROOM:
                return None
            self._make_room(2 * self._codes.size, 2 * self._bytes)

    def forget(self) -> None:
        """Give back much room, after the description was used."""
        if self._bytes > KEPT_BYTES:
            self._make_room(FIRST_PARTS, FIRST_BYTES)

    def _make_room(self, parts: int, size: int) -> None:
        """Room for so many parts, and so many bytes of elements of each kind of leaf."""
        self._bytes = size
        self._codes, self._stack = np.empty(parts, np.uint16), np.empty((parts, 2), np.uint64)
        self._codes_at, self._stack_at = address_of(self._codes), address_of(self._stack)
        self._call[1:] = [self._codes_at, parts, self._stack_at, parts]
        self._columns = [np.empty(max(size, leaf.words[0]), np.uint8) for leaf in self._leaves]
        self._starts: list[tuple[int, int]] = []
        for number, (leaf, column) in enumerate(zip(self._leaves, self._columns, strict=True)):
            place, start = LEAF_WORDS * number, address_of(column)
            self._starts.append((place, start))
            self._forms[leaf.type][2:4] = [self._ends_at + WORD * place, start + column.size]

    def _form(self, type_: Type) -> Words:
        """The words of a type, which are made when it is first needed."""
        if type_ in self._forms:
            return self._forms[type_]
        match type_:
            case TensorType():
                return self._leaf_form(type_)
            case TupleType():
                fields = [self._form(field) for field in type_.fields]
                return self._new_form(type_, TUPLE, len(fields), self._addresses(fields))
            case _:
                return self._data_form(type_)

    def _new_form(self, type_: Type, *words: int) -> Words:
        form = self._forms[type_] = _words(len(words), words)
        return form

    def _leaf_form(self, type_: TensorType) -> Words:
        shape = [dim for dim in type_.shape if isinstance(dim, int)]
        sizes = _words(max(len(shape), 1), shape)
        self._kept.append(sizes)
        code = FIRST_LEAF + len(self._leaves)
        leaf = Leaf(type_, self._program)
        self._leaves.append(leaf)
        dtype = id(DTYPES[type_.dtype])
        sizes_at = ctypes.addressof(sizes)
        return self._new_form(type_, LEAF, code, 0, 0, dtype, len(shape), sizes_at, leaf.words[0])

    def _data_form(self, type_: Type) -> Words:
        made = self._program.data_types[type_]
        form = self._new_form(type_, DATA_TYPE, len(made), *([0] * (5 * len(made))))
        for place, each in enumerate(made):
            fields = [self._form(field) for field in each.fields]
            name = ctypes.create_string_buffer(each.constructor.name.encode())
            self._kept.append(name)
            start = 2 + 5 * place
            form[start : start + 5] = [
                id(each.constructor),
                ctypes.addressof(name),
                each.layout.number,
                len(fields),
                self._addresses(fields),
            ]
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(each.constructor))
            self._constructors.append((form, start))
        return form

    def _addresses(self, forms: Sequence[Words]) -> int:
        table = _words(max(len(forms), 1), map(ctypes.addressof, forms))
        self._kept.append(table)
        return ctypes.addressof(table)


def can_describe(type_: Type, program: FirstOrderProgram) -> bool:
    """Whether native code can read the values of a type.

    It cannot where there are references, which may lead back to themselves, and tensors of open
    sizes.
    """
    if not _knows_python():
        return False
    seen: set[Type] = set()
    pending = [type_]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, RefType) or is_open_type(current):
            return False
        pending += _parts(current, program)
    return True


def _parts(type_: Type, program: FirstOrderProgram) -> Iterator[Type]:
    if isinstance(type_, TupleType):
        yield from type_.fields
    for made in program.data_types.get(type_, ()):
        yield from made.fields


def _words(count: int, values: object = ()) -> Words:
    return (ctypes.c_uint64 * count)(*values)  # type: ignore[misc]  # any numbers


@cache
def _knows_python() -> bool:
    """Whether objects of this Python lie in memory as native code reads them."""
    if not can_call_directly() or sys.byteorder != "little":
        return False
    sample = ("a", "b", "c")
    head = id(sample) + object.__basicsize__
    found = [ctypes.c_uint64.from_address(head + WORD * place).value for place in range(4)]
    return found == [3, *map(id, sample)] and _slots().keys() == {*SLOTS}


@cache
def _slots() -> dict[str, int]:
    """The offsets of the slots that native code reads, where they are found."""
    constructor = Constructor("Sample", (), GlobalTypeVar("Sample"), 0)
    fields = (constructor,)
    value = ConstructorValue(constructor, fields)
    places = {
        "value_constructor": _offset(value, constructor),
        "value_fields": _offset(value, fields),
    }
    return {name: place for name, place in places.items() if place is not None}


def _offset(instance: object, content: object) -> int | None:
    """Where an object has a reference to another one."""
    for place in range(object.__basicsize__, type(instance).__basicsize__, WORD):
        if ctypes.c_uint64.from_address(id(instance) + place).value == id(content):
            return place
    return None


@cache
def _describe_function() -> ctypes._CFunctionType:
    """The native function, which serves all programs; it holds Python's lock."""
    target = native_target()
    classes = {
        "array": np.ndarray,
        "tuple": tuple,
        "value": ConstructorValue,
        "constructor": Constructor,
    }
    functions = {name: getattr(ctypes.pythonapi, name) for name in PYTHON_FUNCTIONS}
    imports = {
        **{
            name: ctypes.cast(function, ctypes.c_void_p).value or 0
            for name, function in functions.items()
        },
        **{f"relay_tune_class_{name}": id(class_) for name, class_ in classes.items()},
    }
    text = describe_text(target.triple, object.__basicsize__, _slots())
    code = LoadedCode([compile_text(text, target)], [DESCRIBE_SYMBOL], imports)
    kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.py_object, ctypes.c_void_p)
    function = kind(code.address(DESCRIBE_SYMBOL))
    function.owner = code  # type: ignore[attr-defined]  # its machine code must stay
    return function
