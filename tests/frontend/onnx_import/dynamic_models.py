"""Models with sizes that only a run knows, and their comparison with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from relay_tune.building.build import build
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret

RANDOM = np.random.default_rng(7)
FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node

Declared = Mapping[str, tuple[int, Sequence[Any]]]


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Declared,
    weights: Mapping[str, np.ndarray] | None = None,
    outputs: Sequence[str] = ("y",),
) -> onnx.ModelProto:
    declared = [helper.make_tensor_value_info(n, kind, dims) for n, (kind, dims) in inputs.items()]
    arrays = [numpy_helper.from_array(np.asarray(a), n) for n, a in (weights or {}).items()]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(list(nodes), "g", declared, results, arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def check(
    model: onnx.ModelProto,
    feeds: Sequence[Mapping[str, np.ndarray]],
    run: Callable[..., Any] | None = None,
) -> None:
    """The program gives what onnxruntime gives; natively, unless `run` is the interpreter."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    module = from_onnx(model)
    program = build(module, threads=1) if run is None else None
    for given in feeds:
        found = program(**given) if program is not None else interpret(module, **given)
        found = found if isinstance(found, tuple) else (found,)
        for actual, expected in zip(found, session.run(None, dict(given)), strict=True):
            assert actual.shape == expected.shape
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
