"""Checks of one operator's record: type relation, tensor computation and reference must agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.ir.expr import Attributes, Call, Function, Var
from relay_tune.ir.operator import Operator
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op.lower import lower_function
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.tensor import Input, input_tensor
from relay_tune.typing.infer import infer_expr
from tests.checked_calls import CALLS
from tests.run_tensors import run_tensors

Array = np.ndarray[Any, Any]
Value = Array | tuple["Value", ...]


class _KnownTypes:
    """A context for relations whose inputs are all known."""

    def unify(self, left: Type, right: Type) -> Type:
        assert left == right
        return left

    def resolve(self, type_: Type) -> Type:
        return type_


def _type_of(value: Value) -> Type:
    if isinstance(value, tuple):
        return TupleType(tuple(_type_of(field) for field in value))
    return TensorType(value.shape, value.dtype.name)


def _input_of(value: Value, feeds: dict[Input, Array]) -> Any:
    """An input for each array, which is entered into `feeds`."""
    if isinstance(value, tuple):
        return tuple(_input_of(field, feeds) for field in value)
    tensor = input_tensor(f"x{len(feeds)}", value.shape, value.dtype.name)
    feeds[tensor] = value
    return tensor


def _computed(
    operator: Operator, record: Attributes, arrays: Sequence[Value], fields: Sequence[Type]
) -> tuple[Sequence[Tensor], dict[Input, Array]]:
    """What a record computes, by itself or as a composition, and the arrays of its inputs."""
    feeds: dict[Input, Array] = {}
    if operator.compute is not None:
        inputs = [_input_of(array, feeds) for array in arrays]
        return operator.compute(record, inputs, fields), feeds
    params = tuple(Var(f"x{n}", _type_of(array)) for n, array in enumerate(arrays))
    typed = infer_expr(Function(params, Call(operator, params, record)))
    assert isinstance(typed, Function)
    program = lower_function(typed)
    given = [array for array in arrays if isinstance(array, np.ndarray)]
    return program.outputs, dict(zip(program.inputs, given, strict=True))


@pytest.fixture
def check_record(request: pytest.FixtureRequest) -> Callable[..., Array]:
    """check_record(operator, arrays, attributes, tolerance) -> what the reference gives."""

    def check(
        operator: Operator,
        arrays: Sequence[Value],
        attributes: dict[str, Any] | None = None,
        tolerance: float = 1e-5,
    ) -> Array:
        record = operator.attributes(**(attributes or {}))
        wanted = request.config.stash.get(CALLS, None)
        if wanted is not None:
            wanted(operator, arrays, record)
            return operator.reference(record, *arrays)
        types = [_type_of(array) for array in arrays]
        result_type = operator.relation(types, record, _KnownTypes())
        fields = result_type.fields if isinstance(result_type, TupleType) else (result_type,)
        outputs, feeds = _computed(operator, record, arrays, fields)
        expected = operator.reference(record, *arrays)
        pairs = expected if isinstance(expected, tuple) else (expected,)
        _compare(evaluate(outputs, feeds), pairs, fields, tolerance)
        _compare(run_tensors(outputs, feeds, [], native_target()), pairs, fields, tolerance)
        return expected

    return check


def _compare(
    found: Sequence[Array], pairs: Sequence[Array], fields: Sequence[Any], tolerance: float
) -> None:
    for type_, value, reference in zip(fields, found, pairs, strict=True):
        assert (value.shape, value.dtype.name) == (type_.shape, type_.dtype)
        assert (reference.shape, reference.dtype.name) == (type_.shape, type_.dtype)
        if "float" not in type_.dtype:
            np.testing.assert_array_equal(value, reference)
            continue
        np.testing.assert_allclose(
            value.astype("float64"), reference.astype("float64"), tolerance, tolerance
        )


@pytest.fixture
def run_onnx() -> Callable[..., Array]:
    """run_onnx(operator type, arrays, attributes, opset) -> the first output of onnxruntime."""

    def run(
        operator: str,
        arrays: Sequence[Array | None],
        attributes: dict[str, Any] | None = None,
        opset: int = 17,
    ) -> Array:
        names = ["" if array is None else f"x{n}" for n, array in enumerate(arrays)]
        feeds = {name: array for name, array in zip(names, arrays, strict=True) if name}
        node = onnx.helper.make_node(operator, names, ["y"], **(attributes or {}))
        inputs = [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in feeds.items()
        ]
        output = onnx.ValueInfoProto(name="y")
        graph = onnx.helper.make_graph([node], "single", inputs, [output])
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10
        )
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        return session.run(None, feeds)[0]

    return run


@pytest.fixture
def random_array() -> Callable[..., Array]:
    """random_array(shape, dtype) -> numbers from a fixed seed."""
    generator = np.random.default_rng(7)

    def draw(shape: Sequence[int], dtype: str = "float32") -> Array:
        if dtype.startswith(("int", "uint")):
            low = 0 if dtype.startswith("u") else -9
            return generator.integers(low, 10, shape).astype(dtype)
        return generator.standard_normal(shape).astype(dtype)

    return draw
