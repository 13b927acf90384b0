"""The tables by which a direct call is described, and lines of LLVM IR that read them.

Everything in them is a word of 64 bits: a number, or an address. Python fills them
(`relay_tune.runtime.direct`), native code reads them by the names of their words.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

WORD = 8


class _Word(IntEnum):
    """The number of a word in its table, counted from 0."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[Any]) -> int:
        return count


class Call(_Word):
    """A program that can be called, and the memory of its calls.

    ARGUMENT_COUNT, FORMS    how many inputs there are, and the addresses of their forms
    CODES, CODE_ROOM     where values of data types are described
    PAIRS, PAIR_ROOM     where parts of arguments wait, as pairs of object and form
    LEAVES, LEAF_COUNT   the columns of their tensors (`relay_tune.codegen.programs.build_text`)
    STARTS               where the columns begin
    SYMBOLS, SYMBOL_COUNT    the sizes that open dimensions have in this call
    INPUTS, OUTPUTS      tables of addresses, as the program wants them
    PLACES, PLACE_COUNT  the addresses in INPUTS of values of data types, last one first
    FIXED, FIXED_COUNT   the outputs of known shape, FixedOutput words each
    WAY, FUNCTION        the function that runs the program, and the program's own one
    SESSION, RESETS      the session, if there is one; whether it is emptied after a call
    BUILD, READ, RELEASE, RESET    functions of the session
    CELLS, CELL_COUNT    where the program puts the addresses of objects; values of data types first
    DATA_COUNT           how many of them are values of data types
    ROW                  the components of the result: those in the cells, then arrays
    STEPS, STEP_COUNT    how the result is made of them
    LAYOUTS              Layout words for each layout number
    NUMBERS, ROWS, ROW_ROOM, WIDTH    where objects are described
                         (`relay_tune.codegen.programs.read_text`)
    MADE, VALUES         the Python objects that stand for them, and a stack of values
    """

    ARGUMENT_COUNT = auto()
    FORMS = auto()
    CODES = auto()
    CODE_ROOM = auto()
    PAIRS = auto()
    PAIR_ROOM = auto()
    LEAVES = auto()
    LEAF_COUNT = auto()
    STARTS = auto()
    SYMBOLS = auto()
    SYMBOL_COUNT = auto()
    INPUTS = auto()
    OUTPUTS = auto()
    PLACES = auto()
    PLACE_COUNT = auto()
    FIXED = auto()
    FIXED_COUNT = auto()
    WAY = auto()
    FUNCTION = auto()
    SESSION = auto()
    RESETS = auto()
    BUILD = auto()
    READ = auto()
    RELEASE = auto()
    RESET = auto()
    CELLS = auto()
    CELL_COUNT = auto()
    DATA_COUNT = auto()
    ROW = auto()
    STEPS = auto()
    STEP_COUNT = auto()
    LAYOUTS = auto()
    NUMBERS = auto()
    ROWS = auto()
    ROW_ROOM = auto()
    WIDTH = auto()
    MADE = auto()
    VALUES = auto()


class FormKind(IntEnum):
    """What a part of an argument must be."""

    INPUT = 0
    """An array whose elements the program reads where they are."""
    LEAF = 1
    """An array in a value of a data type; its elements are copied."""
    DATA = 2
    """A value of a data type."""
    TUPLE = 3
    """A tuple."""


class ArrayForm(_Word):
    """The form of an array; a wanted size below zero is symbol number -1 - size."""

    KIND = auto()
    DTYPE = auto()
    RANK = auto()
    SIZES = auto()


class InputForm(_Word):
    """The form of an INPUT: also the place of its address, and where its sizes go, or 0."""

    KIND = auto()
    DTYPE = auto()
    RANK = auto()
    SIZES = auto()
    SLOT = auto()
    FOUND_SIZES = auto()


class LeafForm(_Word):
    """The form of a LEAF: also its code, the place of its column's end, that column's limit, and
    the bytes of the elements."""

    KIND = auto()
    DTYPE = auto()
    RANK = auto()
    SIZES = auto()
    CODE = auto()
    END_PLACE = auto()
    LIMIT = auto()
    BYTES = auto()


class ListForm(_Word):
    """The form of a TUPLE: the number of fields, and where the addresses of their forms stand; of
    DATA: the number of constructors, whose words follow from FORMS on."""

    KIND = auto()
    COUNT = auto()
    FORMS = auto()


class ConstructorForm(_Word):
    """A constructor in a DATA form: the object in Python, its name, its code, its fields."""

    CONSTRUCTOR = auto()
    NAME = auto()
    CODE = auto()
    COUNT = auto()
    FORMS = auto()


class FixedOutput(_Word):
    """An output of known shape: the place of its address for the program, and that in the row."""

    SLOT = auto()
    COMPONENT = auto()
    DTYPE = auto()
    RANK = auto()
    SIZES = auto()


class StepKind(IntEnum):
    """A step of the making of a value from components; steps push what they make."""

    ARRAY = 0
    """The component is an array, whose reference is taken over."""
    SCALAR = 1
    """The component is the bits of a number."""
    TENSOR = 2
    """The component is a tensor of the heap."""
    OBJECT = 3
    """The component is the number of an object, or a layout number less than zero."""
    TUPLE = 4
    """A tuple of the last values, PLACE of them."""


class Step(_Word):
    """A step; SIZES is 0 if the tensor's object has them, BYTES are those of one element."""

    KIND = auto()
    PLACE = auto()
    DTYPE = auto()
    RANK = auto()
    SIZES = auto()
    BYTES = auto()


class Layout(_Word):
    """What stands for objects of a layout: their constructor, and how their fields are made; or,
    for a layout without fields, the one value."""

    CONSTRUCTOR = auto()
    STEPS = auto()
    STEP_COUNT = auto()
    STATIC = auto()


def load_words(base: str, type_: str, *words: IntEnum, prefix: str = "") -> str:
    """Lines that load words of the table at `base`; each gets the name of its word.

    load_words("%step", "i64", Step.PLACE):

        %place.at = getelementptr i64, ptr %step, i64 1
        %place = load i64, ptr %place.at, align 8
    """
    lines = []
    for word in words:
        name = f"%{prefix}{word.name.lower()}"
        lines += [
            f"  {name}.at = getelementptr i64, ptr {base}, i64 {word.value}",
            f"  {name} = load {type_}, ptr {name}.at, align 8",
        ]
    return "\n".join(lines)
