"""What a network should give: onnxruntime's answer, ONNX's reference, and that in float32.

Where they disagree (NaN in an extreme, float16 rounded after each step or at the end), an answer is
right if it is that of one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from benchmarks.fuzz_networks import REFUSALS

Feed = Mapping[str, np.ndarray]
Answer = list[np.ndarray]
Source = Callable[[onnx.ModelProto, Feed], Answer | None]
OTHER_FLOATS = {TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}
TOLERANCES = {"float64": 1e-4, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""Of the largest finite element: float64 ends in float32 in some layers of other runtimes."""


def answers(model: onnx.ModelProto, feed: Feed) -> Iterator[tuple[str, Answer]]:
    """The answers of those that have one, with their names; the likeliest to be ours first."""
    for name, ask in _SOURCES.items():
        answer = ask(model, feed)
        if answer is not None:
            yield name, answer


class InputsMisfitError(Exception):
    """onnxruntime takes a node's types, and refuses the sizes of its inputs."""


def misfits(model: onnx.ModelProto, feed: Feed) -> bool:
    """Whether some node has inputs that onnxruntime refuses as invalid.

    ONNX's reference broadcasts labels of losses and indices, say, whatever the standard wants.
    """
    try:
        _by_steps(model, feed, (_strict_onnxruntime, _reference, _wide))
    except InputsMisfitError:
        return True
    return False


def _strict_onnxruntime(model: onnx.ModelProto, feed: Feed) -> Answer | None:
    try:
        return list(_session(model).run(None, dict(feed)))
    except (*REFUSALS, ValueError) as error:
        if isinstance(error, InvalidArgument) or "ShapeInferenceError" in str(error):
            raise InputsMisfitError from error
        return None


def _onnxruntime(model: onnx.ModelProto, feed: Feed) -> Answer | None:
    try:
        return list(_session(model).run(None, dict(feed)))
    except (*REFUSALS, ValueError):
        return None


def _session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), settings)


def _reference(model: onnx.ModelProto, feed: Feed) -> Answer | None:
    try:
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(model).run(None, dict(feed))
    except Exception:  # noqa: BLE001  (the reference ends in errors of all kinds where it has gaps)
        return None
    return [np.asarray(value) for value in found]


def _wide(model: onnx.ModelProto, feed: Feed) -> Answer | None:
    """onnxruntime's answer to the network with float32 for each other float."""
    return _onnxruntime(_widened_model(model), _widened_feed(feed))


def _wide_reference(model: onnx.ModelProto, feed: Feed) -> Answer | None:
    """The reference's answer to the same: functions with float32 constants take no other float."""
    return _reference(_widened_model(model), _widened_feed(feed))


def _widened_feed(feed: Feed) -> Feed:
    return {name: _widened(value) for name, value in feed.items()}


def _widened_model(model: onnx.ModelProto) -> onnx.ModelProto:
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for value in wide.graph.input:
        if value.type.tensor_type.elem_type in OTHER_FLOATS:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    _widen_tensors(wide.graph.initializer)
    for node in wide.graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and attribute.i in OTHER_FLOATS:
                attribute.i = TensorProto.FLOAT
            if attribute.type == onnx.AttributeProto.TENSOR:
                _widen_tensors([attribute.t])
    return wide


def _widen_tensors(tensors: Any) -> None:
    for tensor in tensors:
        if tensor.data_type in OTHER_FLOATS:
            array = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _widened(array: np.ndarray) -> np.ndarray:
    is_other = array.dtype in (np.float16, ml_dtypes.bfloat16, np.float64)
    return array.astype(np.float32) if is_other else array


def _stepwise(model: onnx.ModelProto, feed: Feed) -> Answer | None:
    return _by_steps(model, feed, (_onnxruntime, _reference, _wide))


def _stepwise_reference(model: onnx.ModelProto, feed: Feed) -> Answer | None:
    return _by_steps(model, feed, (_reference, _wide_reference, _onnxruntime, _wide))


def _stepwise_wide(model: onnx.ModelProto, feed: Feed) -> Answer | None:
    return _by_steps(model, feed, (_wide, _onnxruntime, _reference))


def _by_steps(model: onnx.ModelProto, feed: Feed, order: Sequence[Source]) -> Answer | None:
    """Each node by the first that has it, so that one missing kernel does not silence the rest."""
    values: dict[str, np.ndarray] = dict(feed)
    values |= {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    for node in model.graph.node:
        single = _single(model, node, values)
        given = {value.name: values[value.name] for value in single.graph.input}
        given_answers = (ask(single, given) for ask in order)
        found = next((answer for answer in given_answers if answer is not None), None)
        if found is None:
            return None
        named = [name for name in node.output if name]
        values |= dict(zip(named, _like_the_inputs(found, given), strict=True))
    return [values[each.name] for each in model.graph.output]


def _single(
    model: onnx.ModelProto, node: onnx.NodeProto, values: Mapping[str, np.ndarray]
) -> onnx.ModelProto:
    """A model of one node; constants stay constants, since some kernels ask for them."""
    constants = {each.name: each for each in model.graph.initializer}
    names = list(dict.fromkeys(name for name in node.input if name))
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(values[name].dtype), values[name].shape
        )
        for name in names
        if name not in constants
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    weights = [constants[name] for name in names if name in constants]
    graph = helper.make_graph([node], "single", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def _like_the_inputs(found: Answer, given: Feed) -> Answer:
    """Results of float32 in place of another float, as that float."""
    other = [value.dtype for value in given.values() if _widened(value) is not value]
    if not other or any(value.dtype == np.float32 for value in given.values()):
        return found
    return [value.astype(other[0]) if value.dtype == np.float32 else value for value in found]


_SOURCES: Mapping[str, Source] = {
    "onnxruntime": _onnxruntime,
    "reference": _reference,
    "float32": _wide,
    "stepwise": _stepwise,
    "stepwise reference": _stepwise_reference,
    "stepwise float32": _stepwise_wide,
}


def disagreements(found: Answer, expected: Iterator[tuple[str, Answer]]) -> list[str]:
    """What is wrong with the outputs that none of the answers has; asks no more than needed."""
    problems: dict[int, list[str]] = {number: [] for number in range(len(found))}
    for name, answer in expected:
        for number in list(problems):
            problem = problem_of(found[number], answer[number], number, name == "float32")
            if problem:
                problems[number].append(f"{name}: {problem}")
            else:
                del problems[number]
        if not problems:
            return []
    return ["; ".join(each) for each in problems.values()]


def problem_of(ours: np.ndarray, theirs: np.ndarray, number: int, is_wide: bool) -> str:
    """What tells two outputs apart; empty if nothing does."""
    name = ours.dtype.name
    dtype_differs = name != theirs.dtype.name and not (is_wide and name in TOLERANCES)
    if ours.shape != theirs.shape or dtype_differs:
        return f"output {number} is {name}{ours.shape}, not {theirs.dtype.name}{theirs.shape}"
    if name not in TOLERANCES:
        count = np.sum(ours != theirs)
        return f"output {number}: {count} of {ours.size} {name} differ" if count else ""
    with np.errstate(all="ignore"):
        a, b = ours.astype(np.float64), theirs.astype(ours.dtype).astype(np.float64)
        finite = np.isfinite(a)
        if not np.array_equal(finite, np.isfinite(b)) or not _same_infinities(a, b):
            return f"output {number}: {name} infinite or undefined elements differ"
        error = np.abs(a - b)[finite].max(initial=0.0)
        error /= max(np.abs(b)[finite].max(initial=0.0), 1e-6)
    return f"output {number}: {name} error {error:.2g}" if error > TOLERANCES[name] else ""


def _same_infinities(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.array_equal(np.isnan(a), np.isnan(b)) and np.array_equal(a > 1e300, b > 1e300))
