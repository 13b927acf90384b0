"""ONNX graphs under construction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod, sqrt
from typing import Any

import numpy as np
import onnx
import onnx.shape_inference
from onnx import TensorProto, helper, numpy_helper

IR_VERSION, OPERATOR_SET = 8, 17


class Graph:
    """An ONNX graph under construction: values are named, weights are drawn as they are needed."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[onnx.TensorProto] = []

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Apply an operator; the name of its result, of several the first (see `outputs_of`)."""
        names = [f"v{len(self._nodes)}_{n}" for n in range(outputs)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0]

    def outputs_of(self, first: str, count: int) -> list[str]:
        """All results of an operator, by its first."""
        stem = first.removesuffix("_0")
        return [f"{stem}_{n}" for n in range(count)]

    def constant(self, value: Any) -> str:
        """An initializer."""
        name = f"w{len(self._initializers)}"
        self._initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape: int, fan_in: int | None = None) -> str:
        """Random weights for so many inputs of each output; by default all dimensions but one."""
        count = prod(shape[1:]) if fan_in is None else fan_in
        values = self._random.standard_normal(shape, np.float32) * np.float32(sqrt(2.0 / count))
        return self.constant(values)

    def vector(self, size: int, around: float = 0.0) -> str:
        """Random numbers around a value: biases, scales."""
        return self.constant(self.drawn(size, around))

    def drawn(self, size: int, around: float) -> np.ndarray:
        """The numbers of `vector`."""
        return self._random.uniform(around - 0.1, around + 0.1, size).astype(np.float32)

    def model(self, name: str, inputs: Mapping[str, Sequence[int]], output: str) -> onnx.ModelProto:
        """The finished model; all inputs are float32 unless their name begins with `ids`."""
        given = [
            helper.make_tensor_value_info(
                n, TensorProto.INT64 if n.startswith("ids") else TensorProto.FLOAT, list(shape)
            )
            for n, shape in inputs.items()
        ]
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self._nodes, name, given, [result], self._initializers)
        opset = [helper.make_opsetid("", OPERATOR_SET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
        return onnx.shape_inference.infer_shapes(model)
