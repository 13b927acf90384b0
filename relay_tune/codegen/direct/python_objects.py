"""Objects of Python, as native code reads and makes them.

numpy's C interface fixes the fields of an array (`PyArrayObject_fields` in `ndarraytypes.h`): after
the head of the object the address of the elements, the rank, and the addresses of sizes, strides,
base and element type, then the flags. An element type (`PyArray_Descr`) has its class, its kind,
character, byte order and flags, a byte each, and its number. A tuple (`PyTupleObject`) has its
length, then its items.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import Callee, function
from relay_tune.codegen.word_table import WORD
from relay_tune.quick_dataclass import dataclass

CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
"""Bits of the flags of an array."""

DATA, RANK, SIZES, DTYPE, FLAGS = 0, 8, 16, 40, 48
"""Offsets in an array, after the head of the object."""

ELEMENTS = 8
"""Offset in an element type, after the head: a word of its kind, byte order, flags and number."""

SLOTS = ("value_constructor", "value_fields")
"""The slots of values that are read and written, whose offsets in their objects are given."""

AS_POINTER = function("ptr", "PyLong_AsVoidPtr", "ptr")
AS_NUMBER = function("i64", "PyLong_AsLongLong", "ptr")
FROM_NUMBER = function("ptr", "PyLong_FromLongLong", "i64")
SAVE_THREAD = function("ptr", "PyEval_SaveThread")
RESTORE_THREAD = function("void", "PyEval_RestoreThread", "ptr")
GET_ATTRIBUTE = function("ptr", "PyObject_GetAttrString", "ptr", "ptr")
CLEAR_ERROR = function("void", "PyErr_Clear")
COMPARE_TEXT = function("i32", "PyUnicode_CompareWithASCIIString", "ptr", "ptr")
NEW_TUPLE = function("ptr", "PyTuple_New", "i64")
SET_ITEM = function("i32", "PyTuple_SetItem", "ptr", "i64", "ptr")
NEW_OBJECT = function("ptr", "PyType_GenericAlloc", "ptr", "i64")
INCREMENT = function("void", "Py_IncRef", "ptr")
DECREMENT = function("void", "Py_DecRef", "ptr")
NEW_CAPSULE = function("ptr", "PyCapsule_New", "ptr", "ptr", "ptr")
CAPSULE_POINTER = function("ptr", "PyCapsule_GetPointer", "ptr", "ptr")

PYTHON_FUNCTIONS: tuple[Callee, ...] = (
    *(AS_POINTER, AS_NUMBER, FROM_NUMBER, SAVE_THREAD, RESTORE_THREAD, GET_ATTRIBUTE),
    *(CLEAR_ERROR, COMPARE_TEXT, NEW_TUPLE, SET_ITEM, NEW_OBJECT, INCREMENT, DECREMENT),
    *(NEW_CAPSULE, CAPSULE_POINTER),
)
"""The functions of Python that are called, all of the stable interface."""

NEW_ARRAY = function("ptr", "relay_tune_new_array", "i32", "ptr", "ptr", "i32")
"""`PyArray_Empty` of numpy's C interface."""

WRAP_ARRAY = function(
    "ptr", "relay_tune_wrap_array", "ptr", "ptr", "i32", "ptr", "ptr", "ptr", "i32", "ptr"
)
"""`PyArray_NewFromDescr` of it."""

SET_OWNER = function("i32", "relay_tune_set_owner", "ptr", "ptr")
"""`PyArray_SetBaseObject` of it."""

FREE = function("void", "free", "ptr")

ARRAY, TUPLE, VALUE, CONSTRUCTOR = (
    f"relay_tune_class_{name}" for name in ("array", "tuple", "value", "constructor")
)
"""The classes whose objects it looks into, under the names by which they are imported."""

NONE = "relay_tune_none"


@dataclass(frozen=True, slots=True)
class PythonObjects:
    """Where the parts of objects are.

    Attributes:
        head: the bytes before the fields of an object.
        slots: the offsets of SLOTS in their objects.
    """

    head: int
    slots: Mapping[str, int]

    def class_of(self, object_: Operand) -> Operand:
        """The class of an object."""
        return object_.at("ptr", self.head - WORD).load()

    def length(self, tuple_: Operand) -> Operand:
        """How many items a tuple has."""
        return tuple_.at("i64", self.head).load()

    def items(self, tuple_: Operand) -> Operand:
        """Where the addresses of a tuple's items are."""
        return tuple_.offset(self.head + WORD)

    def field(self, array: Operand, offset: int, type_: str = "ptr") -> Operand:
        """A field of an array."""
        return array.at(type_, self.head + offset).load()
