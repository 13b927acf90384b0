"""Constants as text: literals where they are exact, entries of the metadata section otherwise."""

from __future__ import annotations

import numpy as np

from relay_tune.ir.expr import Constant
from relay_tune.ir.literals import scalar_text
from relay_tune.ir.metadata import CONSTANTS


class ConstantPool:
    """Collects the tensors of one text for its metadata section."""

    def __init__(self) -> None:
        self.tensors: list[np.ndarray] = []
        self._index: dict[Constant, int] = {}

    def text(self, constant: Constant) -> str:
        """The literal or the reference to the metadata section."""
        literal = scalar_text(constant.data) if constant.data.ndim == 0 else None
        if literal is not None:
            return literal
        if constant not in self._index:
            self._index[constant] = len(self.tensors)
            self.tensors.append(constant.data)
        return f"meta[{CONSTANTS}][{self._index[constant]}]"
