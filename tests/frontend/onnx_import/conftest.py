from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from relay_tune.building.build import build
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types

NodeModel = Callable[..., onnx.ModelProto]
Check = Callable[..., None]


def make_node_model(
    operator: str,
    inputs: Sequence[np.ndarray | None],
    *,
    constants: Mapping[int, np.ndarray] | None = None,
    outputs: int = 1,
    opset: int = 22,
    domain: str = "",
    domain_version: int = 1,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node; inputs whose numbers are in `constants` become initializers."""
    constants = constants or {}
    count = max([len(inputs) - 1, *constants]) + 1
    names = [
        f"x{n}" if n in constants or (n < len(inputs) and inputs[n] is not None) else ""
        for n in range(count)
    ]
    outs = [f"y{n}" for n in range(outputs)]
    node = helper.make_node(operator, names, outs, name="node", domain=domain, **attributes)
    declared = [
        helper.make_tensor_value_info(
            f"x{n}", helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
        )
        for n, value in enumerate(inputs)
        if value is not None and n not in constants
    ]
    weights = [numpy_helper.from_array(value, f"x{n}") for n, value in constants.items()]
    results = [onnx.ValueInfoProto(name=name) for name in outs]
    graph = helper.make_graph([node], "graph", declared, results, weights)
    opsets = [helper.make_opsetid("", opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, domain_version))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def reference_outputs(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> list[Any]:
    return ReferenceEvaluator(model).run(None, dict(feeds))


def onnxruntime_outputs(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> list[Any]:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, dict(feeds))


EVALUATORS = {"reference": reference_outputs, "onnxruntime": onnxruntime_outputs}


def check_model(
    model: onnx.ModelProto,
    feeds: Mapping[str, np.ndarray],
    rtol: float = 1e-4,
    against: str = "reference",
    native: bool = False,
) -> None:
    """The imported model gives what another evaluator gives, with the same types.

    With `native` its native code does so, too.
    """
    module = from_onnx(model)
    assert infer_types(module).main.body.type == module.main.body.type
    expected = EVALUATORS[against](model, feeds)
    _compare(interpret(module, **feeds), expected, rtol)
    if native:
        _compare(build(module)(**feeds), expected, rtol)


def _compare(actual: Any, expected: Sequence[Any], rtol: float) -> None:
    actual = actual if isinstance(actual, tuple) else (actual,)
    assert len(actual) == len(expected)
    for found, wanted in zip(actual, expected, strict=True):
        wanted = np.asarray(wanted)
        assert found.dtype == wanted.dtype
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-5)


@pytest.fixture
def node_model() -> NodeModel:
    return make_node_model


@pytest.fixture
def check() -> Check:
    return check_model


@pytest.fixture
def check_node() -> Check:
    def run(operator: str, *inputs: np.ndarray | None, **options: Any) -> None:
        rtol, against = options.pop("rtol", 1e-4), options.pop("against", "reference")
        native = options.pop("native", False)
        model = make_node_model(operator, inputs, **options)
        constants = options.get("constants") or {}
        feeds = {
            f"x{n}": value
            for n, value in enumerate(inputs)
            if value is not None and n not in constants
        }
        check_model(model, feeds, rtol, against, native)

    return run


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)
