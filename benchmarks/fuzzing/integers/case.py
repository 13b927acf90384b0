"""A model of few nodes with known results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.fuzzing.integers.draw import Array


@dataclass(frozen=True, slots=True)
class Case:
    """A model, its inputs, and its result.

    Attributes:
        name: the operator, and what was drawn for it.
        model: of ONNX.
        feeds: inputs by name.
        expected: what int64 arithmetic gives.
    """

    name: str
    model: onnx.ModelProto
    feeds: Mapping[str, Array]
    expected: Array


@dataclass(slots=True)
class Graph:
    """Nodes, constants and inputs that are collected; the last node's output is the result."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    feeds: dict[str, Array] = field(default_factory=dict)

    def tensor(self, value: Array | None, is_constant: bool = True) -> str:
        """The name of a new constant, or of a new input; empty for what is left out."""
        if value is None:
            return ""
        values = self.constants if is_constant else self.feeds
        name = f"{'c' if is_constant else 'x'}{len(values)}"
        values[name] = value
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """The name of the output of a new node."""
        name = f"y{len(self.nodes)}"
        node = helper.make_node(operator, list(inputs), [name], **attributes)
        self.nodes.append(node)
        return name

    def real(self, stored: str, scale: Array, zero: Array | None, axis: int = 0) -> str:
        """The numbers that integers stand for."""
        parameters = [self.tensor(np.asarray(scale)), self.tensor(zero)]
        return self.node("DequantizeLinear", stored, *parameters, axis=axis)

    def case(self, name: str, expected: Array) -> Case:
        """The case whose result is the last node's."""
        declared = [
            helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for key, x in self.feeds.items()
        ]
        result = helper.make_tensor_value_info(
            f"y{len(self.nodes) - 1}",
            helper.np_dtype_to_tensor_dtype(expected.dtype),
            expected.shape,
        )
        weights = [numpy_helper.from_array(x, key) for key, x in self.constants.items()]
        graph = helper.make_graph(self.nodes, "integers", declared, [result], weights)
        opsets = [helper.make_opsetid("", 19)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        return Case(name, model, self.feeds, expected)
