"""How objects lie in memory: a header, then the fields, each at a multiple of its size.

    offset 0   i32   references (negative: a static object, never counted)
           4   i16   size class
           6   i16   layout number; that of a constructor is also its tag
           8   ptr   link of free lists and of the list of dying objects; else null, but for marks
                     while objects are read, and the depth of a tensor that is still to be computed
          16   fields

The elements of a tensor object begin at TENSOR_DATA, so that they are 64-byte aligned. In a program
with sizes that are known at run time only, the sizes of each tensor stand before them, an i64 each,
from TENSOR_SHAPE on.
"""

from __future__ import annotations

from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.program.kinds import Kind, ScalarKind, TensorKind, is_counted
from relay_tune.quick_dataclass import dataclass

LINK = 8
HEADER_BYTES = 16
TENSOR_SHAPE = 16
TENSOR_DATA = 64
TENSOR_LAYOUT = 0
"""The layout number of all tensors."""

MAXIMUM_LAYOUTS = 1 << 15
POINTER_BYTES = 8


@dataclass(frozen=True, eq=False, slots=True)
class ObjectLayout:
    """The fields of the objects of one constructor, closure or cell.

    Attributes:
        number: unique in the program, from 1.
        name: for people.
        fields: the kinds of the fields.
    """

    number: int
    name: str
    fields: tuple[Kind, ...]

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offset of each field in bytes."""
        return self._offsets_and_size()[0]

    @property
    def size(self) -> int:
        """The bytes of an object."""
        return self._offsets_and_size()[1]

    @property
    def counted_offsets(self) -> tuple[int, ...]:
        """The offsets of the fields that are counted pointers."""
        pairs = zip(self.offsets, self.fields, strict=True)
        return tuple(offset for offset, kind in pairs if is_counted(kind))

    def _offsets_and_size(self) -> tuple[tuple[int, ...], int]:
        offsets = []
        end = HEADER_BYTES
        for kind in self.fields:
            size = field_bytes(kind)
            end += -end % size
            offsets.append(end)
            end += size
        return tuple(offsets), end


def field_bytes(kind: Kind) -> int:
    """The bytes of a field."""
    return DTYPES[kind.dtype].itemsize if isinstance(kind, ScalarKind) else POINTER_BYTES


def element_bytes(kind: TensorKind) -> int:
    """The bytes of the elements of a tensor."""
    return prod(kind.shape) * DTYPES[kind.type.dtype].itemsize


def tensor_bytes(kind: TensorKind) -> int:
    """The bytes of a tensor object of known shape."""
    return tensor_object_bytes(element_bytes(kind))


def tensor_object_bytes(elements: int) -> int:
    """The bytes of a tensor object whose elements take so many; a multiple of 64."""
    return TENSOR_DATA + -(-elements // 64) * 64


SMALL_STEP, SMALL_LIMIT = 16, 1024
_SMALL_CLASSES = SMALL_LIMIT // SMALL_STEP
_SMALL_POWER = 10
SIZE_CLASSES = _SMALL_CLASSES + 4 * 38
"""Classes up to 2^48 bytes."""


def size_class(size: int) -> int:
    """The smallest size class with room for `size` bytes: steps of 16, then four a power of two."""
    if size <= SMALL_LIMIT:
        return max(0, -(-size // SMALL_STEP) - 1)
    power = (size - 1).bit_length() - 1
    step = 1 << (power - 2)
    return _SMALL_CLASSES + 4 * (power - _SMALL_POWER) + -(-(size - (1 << power)) // step) - 1


def class_bytes(number: int) -> int:
    """The bytes of a block of a size class."""
    if number < _SMALL_CLASSES:
        return (number + 1) * SMALL_STEP
    power, quarter = divmod(number - _SMALL_CLASSES, 4)
    return (1 << (power + _SMALL_POWER)) * (5 + quarter) // 4
