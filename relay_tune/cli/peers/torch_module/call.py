"""One node of an ONNX graph as a function of torch sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from relay_tune.quick_dataclass import dataclass

Array = np.ndarray[Any, Any]


class NotInTorch(ValueError):
    """A node that has no translation here; it says which, and what of it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A node with the values of its inputs.

    Attributes:
        kind: the operator's name in ONNX.
        inputs: tensors; None for those that the node leaves out.
        constants: the values of those inputs that are stored in the model; None for others.
        attributes: by name; only those that the node has.
        outputs: how many it gives.
    """

    kind: str
    inputs: Sequence[Tensor | None]
    constants: Sequence[Array | None]
    attributes: Mapping[str, Any]
    outputs: int

    def tensor(self, index: int) -> Tensor:
        """An input that must be there."""
        value = self.optional(index)
        if value is None:
            raise NotInTorch(f"{self.kind} without its input {index}.")
        return value

    def optional(self, index: int) -> Tensor | None:
        """An input that may be left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def numbers(self, index: int) -> list[Any] | None:
        """The numbers of an input that is stored in the model; None if it is left out."""
        if self.optional(index) is None:
            return None
        value = self.constants[index]
        if value is None:
            raise NotInTorch(f"{self.kind} computes its input {index}, which must be stored.")
        return list(np.ravel(value).tolist())

    def option(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    def numbers_or_option(self, index: int, name: str) -> list[Any] | None:
        """Read what newer operator sets have as an input, and older ones as an attribute."""
        return self.option(name) if name in self.attributes else self.numbers(index)


Translation = Callable[[Call], Tensor | Sequence[Tensor]]
"""Translation of an operator to torch."""
