"""Description of a kind of leaf for native code that makes the objects of its tensors."""

from __future__ import annotations

import numpy as np

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType
from relay_tune.program.kinds import MAXIMUM_OPEN_RANK, TensorKind
from relay_tune.program.layouts import class_bytes, element_bytes, size_class, tensor_bytes
from relay_tune.program.program import FirstOrderProgram
from relay_tune.runtime.call_inputs import address_of


class Leaf:
    """A kind of leaf: tensors of a type.

    Attributes:
        type: this type.
        words: the words of `leaves` for it, after the first
            (`relay_tune.codegen.programs.build_values`).
    """

    def __init__(self, type_: TensorType, program: FirstOrderProgram) -> None:
        self.type = type_
        self._sizes = np.zeros(MAXIMUM_OPEN_RANK, np.int64)  # as a tensor's object has them
        known = [dim for dim in type_.shape if isinstance(dim, int)][:MAXIMUM_OPEN_RANK]
        self._sizes[: len(known)] = known
        sizes = address_of(self._sizes) if program.is_open and type_.shape else 0
        self.words = (*_element_words(type_), sizes)


def _element_words(type_: TensorType) -> tuple[int, int, int]:
    """The bytes of an element of a column, and the size class of its objects with its bytes."""
    if not type_.shape:
        return DTYPES[type_.dtype].itemsize, 0, 0
    kind = TensorKind(type_)
    number = size_class(tensor_bytes(kind))
    return element_bytes(kind), number, class_bytes(number)
