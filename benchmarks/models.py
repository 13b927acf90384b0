"""The networks of the benchmarks, each as one ONNX file that every system reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from relay_tune import zoo
from relay_tune.frontend.onnx_export.to_onnx import IR_VERSION, OPERATOR_SET, to_onnx
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.zoo.recurrent import (
    FULL,
    GRU_GATES,
    LSTM_GATES,
    RecurrentSizes,
    recurrent_weights,
)
from relay_tune.zoo.weights import Weights

Array = np.ndarray[Any, Any]
Inputs = Mapping[str, Array]

RECURRENT_GATES = {"lstm": LSTM_GATES, "gru": GRU_GATES}


@dataclass(frozen=True, slots=True)
class Network:
    """A model file and inputs for it."""

    name: str
    path: Path
    inputs: Inputs


def network(name: str, folder: Path, seed: int = 0) -> Network:
    """A network of the zoo, written into `folder`, or the file that `name` is the path of."""
    if name.endswith(".onnx"):
        path = Path(name)
        return Network(path.stem, path, zoo.example_inputs(from_onnx(path), seed))
    path = folder / f"{name}.onnx"
    module = zoo.build(name, seed=seed)
    if name in RECURRENT_GATES:
        onnx.save(recurrent_model(name, FULL, seed), path)
    else:
        onnx.save(to_onnx(module), path)
    return Network(name, path, zoo.example_inputs(module, seed))


def recurrent_model(kind: str, sizes: RecurrentSizes, seed: int, batch: int = 1) -> onnx.ModelProto:
    """The `lstm` or `gru` of the zoo as the one operator that ONNX has for it.

    Same input `data` [steps, batch, inputs], same weights, same output [steps, batch, hidden] as
    the zoo's network, which is written out step by step.
    """
    weights = recurrent_weights(Weights(seed), sizes, RECURRENT_GATES[kind])
    initializers = {
        "W": weights.inputs[None],
        "R": weights.state[None],
        "B": np.concatenate([weights.input_bias, weights.state_bias])[None],
        "direction": np.array([1], np.int64),
    }
    attributes = {"linear_before_reset": 1} if kind == "gru" else {}
    layer = helper.make_node(
        kind.upper(), ["data", "W", "R", "B"], ["Y"], hidden_size=sizes.hidden, **attributes
    )
    squeeze = helper.make_node("Squeeze", ["Y", "direction"], ["output"])
    shapes = {
        "data": (sizes.steps, batch, sizes.inputs),
        "output": (sizes.steps, batch, sizes.hidden),
    }
    data, output = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    )
    stored = [numpy_helper.from_array(value, name) for name, value in initializers.items()]
    graph = helper.make_graph([layer, squeeze], kind, [data], [output], stored)
    opset = helper.make_opsetid("", OPERATOR_SET)
    return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
