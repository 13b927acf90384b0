"""The tables by which a direct call is described.

Python fills them (`relay_tune.runtime.direct`), native code reads them.
"""

from __future__ import annotations

from enum import IntEnum

from relay_tune.codegen.word_table import ADDRESS, NUMBER, SMALL_NUMBER, Word


class Call(Word):
    """A program that can be called, and the memory of its calls.

    ARGUMENT_COUNT, FORMS    how many inputs there are, and the addresses of their forms
    CODES, CODE_ROOM     where values of data types are described
    PAIRS, PAIR_ROOM     where parts of arguments wait, as pairs of object and form
    LEAVES, LEAF_COUNT   the columns of their tensors (`relay_tune.codegen.programs.build_values`)
    STARTS               where the columns begin
    SYMBOLS, SYMBOL_COUNT    the sizes that open dimensions have in this call
    INPUTS, OUTPUTS      tables of addresses, as the program wants them
    PLACES, PLACE_COUNT  the addresses in INPUTS of values of data types, last one first
    FIXED, FIXED_COUNT   the outputs of known shape, FixedOutput words each
    FUNCTION             the program: a function of its session and the tables
    SESSION, RESETS      the session; whether it is emptied after a call
    BUILD, READ, RELEASE, RESET, HAND_OVER    functions of the session
    CELLS, CELL_COUNT    where the program puts the addresses of objects; values of data types first
    DATA_COUNT           how many of them are values of data types
    ROW                  the components of the result: those in the cells, then arrays
    STEPS, STEP_COUNT    how the result is made of them
    LAYOUTS              Layout words for each layout number
    NUMBERS, ROWS, ROW_ROOM, WIDTH    where objects are described
                         (`relay_tune.codegen.programs.read_values`)
    MADE, VALUES         the Python objects that stand for them, and a stack of values
    """

    ARGUMENT_COUNT = NUMBER
    FORMS = ADDRESS
    CODES = ADDRESS
    CODE_ROOM = NUMBER
    PAIRS = ADDRESS
    PAIR_ROOM = NUMBER
    LEAVES = ADDRESS
    LEAF_COUNT = NUMBER
    STARTS = ADDRESS
    SYMBOLS = ADDRESS
    SYMBOL_COUNT = NUMBER
    INPUTS = ADDRESS
    OUTPUTS = ADDRESS
    PLACES = ADDRESS
    PLACE_COUNT = NUMBER
    FIXED = ADDRESS
    FIXED_COUNT = NUMBER
    FUNCTION = ADDRESS
    SESSION = ADDRESS
    RESETS = NUMBER
    BUILD = ADDRESS
    READ = ADDRESS
    RELEASE = ADDRESS
    RESET = ADDRESS
    HAND_OVER = ADDRESS
    CELLS = ADDRESS
    CELL_COUNT = NUMBER
    DATA_COUNT = NUMBER
    ROW = ADDRESS
    STEPS = ADDRESS
    STEP_COUNT = NUMBER
    LAYOUTS = ADDRESS
    NUMBERS = ADDRESS
    ROWS = ADDRESS
    ROW_ROOM = NUMBER
    WIDTH = NUMBER
    MADE = ADDRESS
    VALUES = ADDRESS


class Part(Word):
    """A part of an argument that waits to be read, and its form."""

    OBJECT = ADDRESS
    FORM = ADDRESS


class FormKind(IntEnum):
    """The required form of one part of an argument."""

    INPUT = 0
    """An array whose elements the program reads where they are."""
    LEAF = 1
    """An array in a value of a data type; its elements are copied."""
    DATA = 2
    """A value of a data type."""
    TUPLE = 3
    """A tuple."""


class ArrayForm(Word):
    """The form of an array; a wanted size below zero is symbol number -1 - size."""

    KIND = NUMBER
    DTYPE = ADDRESS
    RANK = SMALL_NUMBER
    SIZES = ADDRESS


class InputForm(Word):
    """The form of an INPUT: also the slot of its address, and where its sizes go, or 0."""

    KIND = NUMBER
    DTYPE = ADDRESS
    RANK = SMALL_NUMBER
    SIZES = ADDRESS
    SLOT = ADDRESS
    FOUND_SIZES = ADDRESS


class LeafForm(Word):
    """The form of a LEAF: also its code, the slot of its column's end, that column's limit, and
    the bytes of the elements."""

    KIND = NUMBER
    DTYPE = ADDRESS
    RANK = SMALL_NUMBER
    SIZES = ADDRESS
    CODE = NUMBER
    END_PLACE = ADDRESS
    LIMIT = ADDRESS
    BYTES = NUMBER


class ListForm(Word):
    """The form of a TUPLE: the number of fields, and where the addresses of their forms stand; of
    DATA: the number of constructors, whose words follow from FORMS on."""

    KIND = NUMBER
    COUNT = NUMBER
    FORMS = ADDRESS


class ConstructorForm(Word):
    """A constructor in a DATA form: the object in Python, its name, its code, its fields."""

    CONSTRUCTOR = ADDRESS
    NAME = ADDRESS
    CODE = NUMBER
    COUNT = NUMBER
    FORMS = ADDRESS


class FixedOutput(Word):
    """An output of known shape: the slot of its address for the program, and that in the row."""

    SLOT = ADDRESS
    COMPONENT = ADDRESS
    DTYPE = ADDRESS
    RANK = SMALL_NUMBER
    SIZES = ADDRESS


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


class Step(Word):
    """A step; SIZES is 0 if the tensor's object has them, BYTES are those of one element."""

    KIND = NUMBER
    PLACE = NUMBER
    DTYPE = ADDRESS
    RANK = NUMBER
    SIZES = ADDRESS
    BYTES = NUMBER


class Layout(Word):
    """What stands for objects of a layout: their constructor, and how their fields are made; or,
    for a layout without fields, the one value."""

    CONSTRUCTOR = ADDRESS
    STEPS = ADDRESS
    STEP_COUNT = NUMBER
    STATIC = ADDRESS
