"""Where a native program puts the components of its result."""

from __future__ import annotations

from math import prod

import numpy as np

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType, Type
from relay_tune.program.kinds import is_open_type
from relay_tune.runtime.call_inputs import address_of
from relay_tune.runtime.result_memory import LARGE_RESULT, ResultMemory


class ResultRoom:
    """A component of the result: the elements of a tensor, an object, or a tensor's object.

    Attributes:
        is_object: whether it is a value of a data type or a cell.
        is_array: whether it is a tensor of known sizes, whose elements the program writes.
        is_large: whether its memory is used again.
        shape: of such a tensor.
        open_type: of a tensor with open sizes, which the program gives as an object; else None.
    """

    def __init__(self, type_: Type) -> None:
        self.is_object = not isinstance(type_, TensorType)
        self.is_array = isinstance(type_, TensorType) and not is_open_type(type_)
        self.open_type: TensorType | None = None
        self.shape: tuple[int, ...] = ()
        self._dtype = np.dtype(np.uint64)
        if isinstance(type_, TensorType) and is_open_type(type_):
            self.open_type = type_
        elif isinstance(type_, TensorType):
            self.shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
            self._dtype = DTYPES[type_.dtype]
        self.is_large = prod(self.shape) * self._dtype.itemsize >= LARGE_RESULT
        self._memory = ResultMemory(self.shape, self._dtype) if self.is_large else None
        self._word = np.zeros((), np.uint64)
        self._address = address_of(self._word)

    def room(self) -> np.ndarray:
        """Where the program puts the elements, or the object's address until the next run."""
        if self._memory is not None:
            return self._memory.array()
        return np.empty(self.shape, self._dtype) if self.is_array else self._word

    def address(self, room: np.ndarray) -> int:
        """The address of a room."""
        return address_of(room) if self.is_array else self._address
