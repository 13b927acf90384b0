"""Inputs that decide which nodes of an ONNX graph run, with values that they may have.

    sr: int64 -> Equal(sr, 16000) -> If(then, else)        {"sr": (16000,)}

Such an input is an option of the model rather than data: given as a constant, its branches and
loops are decided at import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.tensor import tensor_array

MOST_ELEMENTS = 8
"""An input with more elements is data."""

_COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
_SIZES = ("Shape", "Size")

Option = bool | int | float


def deciding_inputs(graph: GraphProto) -> dict[str, tuple[Option, ...]]:
    """The small inputs that a condition or the length of a loop depends on, with likely values."""
    weights = {tensor.name for tensor in graph.initializer}
    options = {v.name: v for v in graph.input if v.name not in weights and _is_small(v)}
    found = _Decisions({name: [] for name in options}, [])
    found.walk(graph, {name: frozenset((name,)) for name in options}, {})
    return {name: _likely(options[name], found.values[name]) for name in found.deciding}


class _Decisions:
    """Which inputs decide something, and which constants inputs are compared with."""

    def __init__(self, values: dict[str, list[Option]], deciding: list[str]) -> None:
        self.values = values
        self.deciding = deciding

    def walk(
        self,
        graph: GraphProto,
        outer: Mapping[str, frozenset[str]],
        outer_constants: Mapping[str, Option],
    ) -> None:
        """Follow the inputs through a graph and its subgraphs."""
        sources, constants = dict(outer), dict(outer_constants)
        for tensor in graph.initializer:
            _note_constant(constants, tensor.name, tensor)
        for node in graph.node:
            if node.op_type == "Constant":
                for attribute, name in product(node.attribute, node.output):
                    _note_constant(constants, name, attribute.t)
            read = [sources.get(name, frozenset()) for name in node.input]
            self._decide(node, read)
            self._compare(node, read, constants)
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    self.walk(attribute.g, sources, constants)
            if node.op_type not in _SIZES:
                sources |= dict.fromkeys(node.output, frozenset().union(*read))

    def _decide(self, node: NodeProto, read: Sequence[frozenset[str]]) -> None:
        deciding = {"If": read[:1], "Loop": read[:2]}.get(node.op_type, ())
        for name in sorted(frozenset().union(*deciding)):
            if name not in self.deciding:
                self.deciding.append(name)

    def _compare(
        self,
        node: NodeProto,
        read: Sequence[frozenset[str]],
        constants: Mapping[str, Option],
    ) -> None:
        if node.op_type not in _COMPARISONS or len(read) != 2:
            return
        for names, other in ((read[0], node.input[1]), (read[1], node.input[0])):
            for name in names if other in constants else ():
                self.values[name].append(constants[other])


def _note_constant(constants: dict[str, Option], name: str, tensor: TensorProto) -> None:
    """Remember the value of a constant of one element; damaged ones are refused elsewhere."""
    is_number = all(size == 1 for size in tensor.dims) and tensor.data_type in _NUMBERS
    if not is_number or tensor.data_location == TensorProto.EXTERNAL:
        return
    with suppress(ModelError):
        constants[name] = tensor_array(tensor, None, name).reshape(-1)[0].item()


_INTEGERS = (TensorProto.INT64, TensorProto.INT32, TensorProto.UINT8, TensorProto.INT8)
_NUMBERS = (*_INTEGERS, TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL)


def _is_small(value: Any) -> bool:
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or tensor.elem_type not in _NUMBERS:
        return False
    sizes = [dim.dim_value or MOST_ELEMENTS for dim in tensor.shape.dim]
    return len(sizes) <= 1 and all(size <= MOST_ELEMENTS for size in sizes)


def _likely(value: Any, compared: Sequence[Option]) -> tuple[Option, ...]:
    """The values that an input is compared with, as values of its type; 1 where there are none."""
    kind = value.type.tensor_type.elem_type
    if kind == TensorProto.BOOL:
        return True, False
    numbers = list(dict.fromkeys(compared)) or [1]
    if kind not in _INTEGERS:
        return tuple(float(each) for each in numbers)
    return tuple(int(each) for each in numbers if each == int(each))
