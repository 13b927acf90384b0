"""Builds random ONNX networks node by node; the shape of every value is known at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.defs import get_schema
from onnx.shape_inference import infer_node_outputs

EXACT_OPERATORS = frozenset(
    "Abs Add And ArgMax ArgMin Cast Clip Concat DepthToSpace Equal Expand Flatten Gather "
    "GatherElements GatherND Greater GreaterOrEqual GlobalMaxPool Identity Less Max MaxPool Min "
    "Neg Not OneHot Or Pad ReduceMax ReduceMin Relu Reshape ScatterElements ScatterND Shape Slice "
    "SpaceToDepth Split Squeeze Sub Tile TopK Transpose Trilu Unsqueeze Where".split()
)
"""Operators without rounding, for values that are small multiples of 1/8."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the graph.

    Attributes:
        exact: whether every correct program computes the same bits; only such values may decide
            something (comparisons, sorting, rounding), since rounding could decide otherwise.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    exact: bool

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class RandomNetwork:
    """A model with inputs to run it on; symbolic batches have inputs of several sizes."""

    kind: str
    seed: int
    model: onnx.ModelProto
    inputs: tuple[dict[str, np.ndarray], ...]


class NetworkBuilder:
    """A graph that grows; `random` decides everything."""

    def __init__(self, random: np.random.Generator, opset: int, batch: str | None = None) -> None:
        self.random = random
        self.opset = opset
        self.outputs: list[Value] = []
        self._batch = batch
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[tuple[Value, int]] = []
        self._weights: list[TensorProto] = []
        self._types: dict[str, onnx.TypeProto] = {}
        self._data: dict[str, TensorProto] = {}
        self._count = 0

    @property
    def dynamic(self) -> bool:
        """Whether the first size of the inputs is open."""
        return self._batch is not None

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return bool(self.random.random() < probability)

    def pick(self, items: Sequence[Any]) -> Any:
        """One of some items."""
        return items[int(self.random.integers(len(items)))]

    def integer(self, low: int, high: int) -> int:
        """A number from low through high."""
        return int(self.random.integers(low, high + 1))

    def input(self, shape: Sequence[int], dtype: str = "float32", limit: int = 32) -> Value:
        """A new input; floats are multiples of 1/8 below limit / 8, integers are below `limit`."""
        value = Value(self._name("input"), tuple(shape), dtype, True)
        self._types[value.name] = _type(value)
        self._inputs.append((value, limit))
        return value

    def constant(self, array: np.ndarray) -> Value:
        """A new weight."""
        value = Value(self._name("weight"), array.shape, array.dtype.name, False)
        tensor = numpy_helper.from_array(np.array(array, order="C"), value.name)
        self._weights.append(tensor)
        self._data[value.name] = tensor
        self._types[value.name] = _type(value)
        return value

    def weight(self, *shape: int, scale: float | None = None) -> Value:
        """Random float32 weights that keep the size of activations."""
        spread = scale if scale is not None else 1 / max(1, prod(shape[1:])) ** 0.5
        return self.constant((self.random.standard_normal(shape) * spread).astype("float32"))

    def positive(self, *shape: int) -> Value:
        """Weights between 1/2 and 3/2."""
        return self.constant((self.random.random(shape) + 0.5).astype("float32"))

    def integers(self, *values: int) -> Value:
        """A constant int64 vector."""
        return self.constant(np.array(values, np.int64))

    def exact_constant(self, array: np.ndarray) -> Value:
        """A weight whose elements are multiples of 1/8."""
        value = self.constant(array)
        return Value(value.name, value.shape, value.dtype, True)

    def add(self, operator: str, *inputs: Value | None, **attributes: Any) -> Value:
        """The result of a node with one output."""
        return self.add_many(operator, 1, *inputs, **attributes)[0]

    def add_many(
        self, operator: str, count: int, *inputs: Value | None, **attributes: Any
    ) -> list[Value]:
        """The results of a node."""
        names = ["" if value is None else value.name for value in inputs]
        results = [self._name(operator.lower()) for _ in range(count)]
        node = helper.make_node(operator, names, results, name=f"n{len(self._nodes)}", **attributes)
        types = infer_node_outputs(
            get_schema(operator, self.opset),
            node,
            {name: self._types[name] for name in names if name},
            {name: self._data[name] for name in names if name in self._data},
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=9,
        )
        self._types |= types
        self._nodes.append(node)
        exact = operator in EXACT_OPERATORS and all(
            value.exact or value.dtype == "int64" for value in inputs if value is not None
        )
        return [_value(name, types[name], exact) for name in results]

    def finish(self, kind: str, seed: int) -> RandomNetwork:
        """The model; sizes of its inputs."""
        graph = helper.make_graph(
            self._nodes,
            kind,
            [self._declared(value) for value, _ in self._inputs],
            [onnx.ValueInfoProto(name=value.name) for value in self._distinct_outputs()],
            self._weights,
        )
        imports = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=9)
        batches = (None, 1, 0) if self.dynamic else (None,)
        return RandomNetwork(kind, seed, model, tuple(self._feed(batch) for batch in batches))

    def _distinct_outputs(self) -> list[Value]:
        return list({value.name: value for value in self.outputs}.values())

    def _declared(self, value: Value) -> onnx.ValueInfoProto:
        shape: list[int | str] = list(value.shape)
        if self._batch is not None and shape:
            shape[0] = self._batch
        return helper.make_tensor_value_info(value.name, _element(value.dtype), shape)

    def _feed(self, batch: int | None) -> dict[str, np.ndarray]:
        feed = {}
        for value, limit in self._inputs:
            shape = value.shape if batch is None else (batch, *value.shape[1:])
            feed[value.name] = self._numbers(shape, value.dtype, limit)
        return feed

    def _numbers(self, shape: Sequence[int], dtype: str, limit: int) -> np.ndarray:
        if dtype == "bool":
            return self.random.random(shape) < 0.5
        if dtype.startswith("float"):
            return (self.random.integers(-limit, limit + 1, shape) / 8).astype(dtype)
        return self.random.integers(0, limit, shape).astype(dtype)

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"


def _element(dtype: str) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _type(value: Value) -> onnx.TypeProto:
    return helper.make_tensor_type_proto(_element(value.dtype), value.shape)


def _value(name: str, type_: onnx.TypeProto, exact: bool) -> Value:
    tensor = type_.tensor_type
    known = [dim.HasField("dim_value") and dim.dim_value >= 0 for dim in tensor.shape.dim]
    if not tensor.HasField("shape") or not all(known):
        raise ValueError(f"the shape of {name} is not known")
    shape = tuple(dim.dim_value for dim in tensor.shape.dim)
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
    return Value(name, shape, dtype, exact)
