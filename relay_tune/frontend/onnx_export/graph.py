"""The ONNX graph while it is written: nodes, weights, and names that are used once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper

from relay_tune.errors import InputError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.types import element_type
from relay_tune.ir.dim import size_label
from relay_tune.ir.types import TensorType

Array = np.ndarray[Any, Any]

LARGEST_MODEL = 2**31 - 2**20
"""Bytes of weights that fit into one file of ONNX, which is a protocol buffer."""


class GraphWriter:
    """Collects nodes and weights; every value has a name.

    Attributes:
        block_weights: for values that are weights of few bits, what they are stored as.
    """

    def __init__(self) -> None:
        self._nodes: list[NodeProto] = []
        self._producers: dict[str, NodeProto] = {}
        self._weights: dict[str, Array] = {}
        self._names: set[str] = set()
        self._renamed: dict[str, str] = {}
        self._made: dict[str, str] = {}
        self._sets: dict[str, tuple[str, ...]] = {}
        self.block_weights: dict[str, object] = {}
        self._bytes = 0

    def fresh_name(self, wanted: str) -> str:
        """`wanted`, with a number behind it where it is taken."""
        name, number = wanted, 1
        while name in self._names:
            name, number = f"{wanted}_{number}", number + 1
        self._names.add(name)
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output; the name of the output."""
        return self.nodes(operator, inputs, 1, **attributes)[0]

    def nodes(
        self, operator: str, inputs: Sequence[str], outputs: int, **attributes: Any
    ) -> tuple[str, ...]:
        """A node with several outputs; their names."""
        label = f"{operator.lower()}{len(self._nodes)}"
        suffixes = [""] if outputs == 1 else [f"_{index}" for index in range(outputs)]
        names = [self.fresh_name(f"{label}{suffix}") for suffix in suffixes]
        node = helper.make_node(operator, list(inputs), names, name=label, **attributes)
        self._nodes.append(node)
        self._producers.update(dict.fromkeys(names, node))
        return tuple(names)

    def constant(self, value: Array, name: str = "weight") -> str:
        """A weight; raises InputError where the model becomes too large for one file."""
        self._bytes += value.nbytes
        if self._bytes > LARGEST_MODEL:
            raise InputError(
                "The weights do not fit into one ONNX file, which holds 2 GiB.",
                remedy="Export a smaller model, or keep large weights as inputs.",
            )
        unique = self.fresh_name(name)
        self._weights[unique] = value
        return unique

    def once(self, what: str, make: Callable[[], str]) -> str:
        """The name of a value that is made when it is first asked for."""
        if what not in self._made:
            self._made[what] = make()
        return self._made[what]

    def several_once(self, what: str, make: Callable[[], Sequence[Array]]) -> tuple[str, ...]:
        """The names of weights that are made when they are first asked for."""
        if what not in self._sets:
            self._sets[what] = tuple(self.constant(each) for each in make())
        return self._sets[what]

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains of nodes that are not of the standard."""
        return tuple(dict.fromkeys(node.domain for node in self._nodes if node.domain))

    def integers(self, *values: int) -> str:
        """A vector of int64 that says an axis, a size, a position."""
        return self.constant(np.asarray(values, np.int64), "integers")

    def named(self, value: str, wanted: str) -> str:
        """Give an output of the graph its name; a node that copies where it cannot be renamed."""
        name = self.fresh_name(wanted)
        if value in self._producers and value not in self._renamed:
            self._rename(value, name)
            return name
        source = self._renamed.get(value, value)
        self._nodes.append(helper.make_node("Identity", [source], [name], name=f"as_{name}"))
        return name

    def _rename(self, value: str, name: str) -> None:
        for node in self._nodes:
            for names in (node.input, node.output):
                for index, each in enumerate(names):
                    if each == value:
                        names[index] = name
        self._renamed[value] = name

    def value_of(self, name: str) -> Array | None:
        """The array of a weight; None where a value is computed."""
        return self._weights.get(name)

    def producer(self, name: str) -> NodeProto | None:
        """The node that computes a value."""
        return self._producers.get(name)

    def move_to_end(self, node: NodeProto) -> None:
        """Let a node that nobody reads yet follow all others, as it was given a newer input."""
        self._nodes = [*(each for each in self._nodes if each is not node), node]

    def finish(
        self, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]
    ) -> GraphProto:
        """The graph; nodes and weights that nobody reads are left out."""
        used = {output.name for output in outputs}
        nodes = []
        for node in reversed(self._nodes):
            if used.intersection(node.output):
                used.update(node.input)
                nodes.append(node)
        weights = [tensor(name, data) for name, data in self._weights.items() if name in used]
        return helper.make_graph(nodes[::-1], "main", list(inputs), list(outputs), weights)


def tensor(name: str, value: Array) -> TensorProto:
    """A weight as ONNX stores it."""
    kind = element_type(value.dtype.name)
    content = np.ascontiguousarray(value).tobytes()
    return helper.make_tensor(name, kind, value.shape, content, raw=True)


def value_info(name: str, type_: TensorType) -> ValueInfoProto:
    """The declaration of an input or output; sizes that are not known are names or nothing."""
    shape = [size_label(dim) for dim in type_.shape]
    return helper.make_tensor_value_info(name, element_type(type_.dtype), shape)


def unsupported(reason: str) -> UnsupportedOperatorError:
    """The error of a translator whose operator ONNX cannot say with these attributes."""
    return UnsupportedOperatorError(reason)
