"""One call of an operator on its way to ONNX: what every translator gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay_tune.frontend.onnx_export.graph import GraphWriter, unsupported
from relay_tune.frontend.onnx_import.types import element_type, numpy_dtype
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.quick_dataclass import dataclass

Value = str | tuple[str, ...]
"""The name of a tensor, or the names of the fields of a tuple of tensors."""


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """A call whose arguments are in the graph already.

    Attributes:
        graph: where nodes are written to.
        operator: name of the operator.
        attributes: its attribute record.
        arguments: names of the arguments.
        types: types of the arguments.
        result: type of the call.
        owns_input: whether nothing else reads the first argument.
    """

    graph: GraphWriter
    operator: str
    attributes: Any
    arguments: tuple[Value, ...]
    types: tuple[Type, ...]
    result: Type
    owns_input: bool

    def input(self, place: int) -> str:
        """The name of an argument that is a tensor."""
        value = self.arguments[place]
        if isinstance(value, tuple):
            raise unsupported("a tuple stands where a tensor is expected")
        return value

    def fields(self, place: int) -> tuple[str, ...]:
        """The names of the tensors of an argument that is a tuple."""
        value = self.arguments[place]
        return value if isinstance(value, tuple) else (value,)

    def type_of(self, place: int) -> TensorType:
        """The type of an argument that is a tensor."""
        return _tensor_type(self.types[place])

    @property
    def result_type(self) -> TensorType:
        """The type of the result, or of the first field of it."""
        return _tensor_type(self.result)

    def rank(self, place: int = 0) -> int:
        """The number of axes of an argument."""
        return len(self.type_of(place).shape)

    def shape(self, place: int = 0) -> tuple[int, ...]:
        """The sizes of an argument, which must be known."""
        return static_shape(self.type_of(place))

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """A node of the graph with one output."""
        return self.graph.node(operator, *inputs, **attributes)

    def like(self, value: float, dtype: str | None = None) -> str:
        """A scalar of the element type of the first argument, or of `dtype`."""
        kind = self.type_of(0).dtype if dtype is None else dtype
        return self.graph.constant(np.asarray(value, numpy_dtype(kind)), "scalar")

    def cast(self, name: str, dtype: str) -> str:
        """A value with another element type."""
        return self.node("Cast", name, to=element_type(dtype))


OperatorTranslator = Callable[[OperatorCall], Value]
"""translator(call) -> the names of the result; raises UnsupportedOperatorError with the reason."""


def static_shape(type_: TensorType) -> tuple[int, ...]:
    """The sizes of a type; raises UnsupportedOperatorError where one is not known."""
    sizes = tuple(dim for dim in type_.shape if isinstance(dim, int))
    if len(sizes) != len(type_.shape):
        raise unsupported("sizes that are known at run time only")
    return sizes


def require_float(call: OperatorCall) -> None:
    """Raises UnsupportedOperatorError where the first argument is not of floats."""
    if "float" not in call.type_of(0).dtype:
        raise unsupported(f"element type {call.type_of(0).dtype}")


def _tensor_type(type_: Type) -> TensorType:
    match type_:
        case TensorType():
            return type_
        case TupleType(fields=(TensorType() as first, *_)):
            return first
        case _:
            raise unsupported("a value that is no tensor")
