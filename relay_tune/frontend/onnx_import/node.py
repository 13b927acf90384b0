"""An ONNX node for translators: inputs as expressions, attributes checked by type."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.tensor import sparse_array, tensor_array
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass

_TYPE_NAMES = {number: name for name, number in AttributeProto.AttributeType.items()}


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """One node.

    Attributes:
        name: its name, or one that its outputs give it.
        operator: the operator type, such as "Conv".
        opset: the version of the operator set that the node is written for.
        inputs: expressions; None for an optional input that is left out.
        wanted: for each output, whether anybody names it.
        attributes: the raw attributes by name; read them with the methods below.
        folder: where files of external data may lie.
    """

    name: str
    operator: str
    opset: int
    inputs: tuple[Expr | None, ...]
    wanted: tuple[bool, ...]
    attributes: Mapping[str, AttributeProto]
    folder: Path | None

    def input(self, index: int) -> Expr:
        """An input that must be there; raises ModelError if it is not."""
        found = self.optional(index)
        if found is None:
            raise ModelError(f"input {index} is missing.")
        return found

    def optional(self, index: int) -> Expr | None:
        """An input that may be left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def all_inputs(self) -> tuple[Expr, ...]:
        """The inputs of a variadic operator; raises ModelError if there is none."""
        if not self.inputs:
            raise ModelError("the operator needs at least one input.")
        return tuple(self.input(index) for index in range(len(self.inputs)))

    def wants(self, index: int) -> bool:
        """Whether output `index` is named, so that it may be used."""
        return index < len(self.wanted) and self.wanted[index]

    def has(self, name: str) -> bool:
        """Whether an attribute is given."""
        return name in self.attributes

    def integer(self, name: str, default: int | None = None) -> int:
        """An attribute of type INT."""
        return int(self._value(name, AttributeProto.INT, "i", default))

    def flag(self, name: str, default: int) -> bool:
        """An attribute of type INT that is 0 or 1."""
        value = self.integer(name, default)
        if value not in (0, 1):
            raise ModelError(f"attribute {name} must be 0 or 1, but is {value}.")
        return bool(value)

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute of type FLOAT."""
        return float(self._value(name, AttributeProto.FLOAT, "f", default))

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """An attribute of type INTS."""
        return tuple(int(v) for v in self._value(name, AttributeProto.INTS, "ints", default))

    def numbers(self, name: str, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """An attribute of type FLOATS."""
        return tuple(float(v) for v in self._value(name, AttributeProto.FLOATS, "floats", default))

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute of type STRING."""
        value = self._value(name, AttributeProto.STRING, "s", default)
        return value if isinstance(value, str) else _decoded(value, name)

    def texts(self, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """An attribute of type STRINGS."""
        values = self._value(name, AttributeProto.STRINGS, "strings", default)
        return tuple(v if isinstance(v, str) else _decoded(v, name) for v in values)

    def tensor(self, name: str) -> np.ndarray:
        """An attribute of type TENSOR."""
        value = self._value(name, AttributeProto.TENSOR, "t", None)
        return tensor_array(value, self.folder, f"attribute {name}")

    def element_type(self, name: str) -> int:
        """ONNX's number of the element type of an attribute of type TENSOR."""
        return int(self._value(name, AttributeProto.TENSOR, "t", None).data_type)

    def sparse_tensor(self, name: str) -> np.ndarray:
        """An attribute of type SPARSE_TENSOR, with its zeros written out."""
        value = self._value(name, AttributeProto.SPARSE_TENSOR, "sparse_tensor", None)
        return sparse_array(value, self.folder, f"attribute {name}")

    def graph(self, name: str) -> GraphProto:
        """An attribute of type GRAPH."""
        return self._value(name, AttributeProto.GRAPH, "g", None)

    def _value(self, name: str, kind: int, field: str, default: Any) -> Any:
        attribute = self.attributes.get(name)
        if attribute is None:
            if default is None:
                raise ModelError(f"attribute {name} is missing.")
            return default
        if attribute.type != kind:
            raise ModelError(
                f"attribute {name} has the type {_TYPE_NAMES.get(attribute.type, attribute.type)}, "
                f"but must have the type {_TYPE_NAMES[kind]}."
            )
        return getattr(attribute, field)


def _decoded(value: bytes, name: str) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(f"attribute {name} is not valid UTF-8 text.") from error
