"""An ONNX file as a module of torch.

torch does not read ONNX files. Onnxruntime folds the constants of the file first, so that shapes
are numbers; every node that is left becomes the function of torch that its exporter makes it from.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from torch import Tensor

from relay_tune.cli.peers.torch_module.call import Array, Call, NotInTorch, Translation
from relay_tune.cli.peers.torch_module.elementwise import ELEMENTWISE
from relay_tune.cli.peers.torch_module.layers import LAYERS
from relay_tune.cli.peers.torch_module.shapes import SHAPES

LSTM_GATES = (0, 2, 3, 1)
"""torch: input, forget, cell, output; ONNX: input, output, forget, cell."""
GRU_GATES = (1, 0, 2)
"""torch: reset, update, new; ONNX: update, reset, new."""


def reordered(weights: Tensor, order: Sequence[int]) -> Tensor:
    """The rows of the gates in torch's order."""
    gates = weights.chunk(len(order))
    return torch.cat([gates[gate] for gate in order])


def parameters(call: Call, order: Sequence[int]) -> list[Tensor]:
    """torch's list: for each direction, weights of the input and of the state, and both biases."""
    flat: list[Tensor] = []
    for inputs, state, bias in zip(*(call.tensor(n) for n in (1, 2, 3)), strict=True):
        parts = (inputs, state, *bias.chunk(2))
        flat += [reordered(part, order) for part in parts]
    return flat


def recurrent(call: Call) -> Sequence[Tensor]:
    """A layer, in one or both directions; results are ONNX's: all states, the last ones."""
    is_lstm = call.kind == "LSTM"
    direction = call.option("direction", b"forward")
    if direction == b"reverse" or call.optional(4) is not None:
        raise NotInTorch(f"{call.kind} in reverse, or with lengths.")
    if not is_lstm and not call.option("linear_before_reset", 0):
        raise NotInTorch("GRU whose reset gate comes before the product.")
    data = call.tensor(0)
    weights = parameters(call, LSTM_GATES if is_lstm else GRU_GATES)
    both = direction == b"bidirectional"
    shape = (1 + both, data.shape[1], call.option("hidden_size"))
    given = [call.optional(n) for n in ((5, 6) if is_lstm else (5,))]
    states = [data.new_zeros(shape) if state is None else state for state in given]
    settings = (True, 1, 0.0, False, both, False)
    if is_lstm:
        outputs, *last = torch.lstm(data, states, weights, *settings)
    else:
        outputs, *last = torch.gru(data, states[0], weights, *settings)
    steps, batch, _ = outputs.shape
    moved = outputs.reshape(steps, batch, 1 + both, -1).transpose(1, 2)
    return (moved, *last)


RECURRENT: Mapping[str, Translation] = {"GRU": recurrent, "LSTM": recurrent}


TRANSLATIONS: Mapping[str, Translation] = {**ELEMENTWISE, **SHAPES, **LAYERS, **RECURRENT}


class OnnxModule(torch.nn.Module):
    """The graph of an ONNX model; called with its inputs in order, it gives a list of outputs."""

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__()
        graph = model.graph
        unknown = {node.op_type for node in graph.node} - TRANSLATIONS.keys()
        if unknown:
            raise NotInTorch(f"no translation of {', '.join(sorted(unknown))} to torch.")
        self.nodes = list(graph.node)
        self.attributes = [
            {part.name: onnx.helper.get_attribute_value(part) for part in node.attribute}
            for node in graph.node
        ]
        self.stored: dict[str, Array] = {
            tensor.name: np.array(numpy_helper.to_array(tensor)) for tensor in graph.initializer
        }
        self.stored_names = {name: f"stored{index}" for index, name in enumerate(self.stored)}
        for name, value in self.stored.items():
            self.register_buffer(self.stored_names[name], torch.from_numpy(value))
        self.input_names = [part.name for part in graph.input if part.name not in self.stored]
        self.output_names = [part.name for part in graph.output]

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        """Evaluate the nodes in their order."""
        values: dict[str, Tensor] = dict(zip(self.input_names, inputs, strict=True))
        values |= {name: self.get_buffer(stored) for name, stored in self.stored_names.items()}
        for node, attributes in zip(self.nodes, self.attributes, strict=True):
            call = Call(
                node.op_type,
                [values[name] if name else None for name in node.input],
                [self.stored.get(name) for name in node.input],
                attributes,
                len(node.output),
            )
            result = TRANSLATIONS[node.op_type](call)
            results = [result] if isinstance(result, Tensor) else result
            values |= zip(node.output, results, strict=False)
        return [values[name] for name in self.output_names]


def constants_folded(path: Path) -> onnx.ModelProto:
    """The model after onnxruntime's basic optimisations, which leave ONNX's own operators."""
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(Path(folder) / "folded.onnx")
        options.log_severity_level = 3
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath)


def compiled(path: Path, inputs: Mapping[str, Any], threads: int) -> tuple[Any, Sequence[Tensor]]:
    """The function that torch.compile makes of a file, with frozen weights, and its arguments.

    It is to be called without gradients. The number of threads is that of the whole process.
    """
    torch.set_num_threads(threads)
    torch.compiler.reset()
    module = OnnxModule(constants_folded(path)).eval()
    arguments = tuple(torch.from_numpy(np.array(inputs[name])) for name in module.input_names)
    with torch.no_grad():
        exported = torch.export.export(module, arguments, strict=False).module()
        function = torch.compile(exported, dynamic=False, options={"freezing": True})
        function(*arguments)
    return function, arguments
