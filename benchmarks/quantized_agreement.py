"""A quantized network against onnxruntime without optimisations, layer by layer.

    python -m benchmarks.quantized_agreement MODEL.onnx [--integers always] [--seed 0]

For each quantization of a network in QDQ form: the share of elements that are equal from end to
end, and the share of those that are equal where the layer is given what onnxruntime gave its own.
The first tells how a network multiplies differences, the second how large those of a layer are.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.utils import Extractor

from relay_tune import zoo
from relay_tune.building.build import build
from relay_tune.building.chosen_passes import ChosenPasses
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Layer:
    """What is computed between quantizations.

    Attributes:
        name: the operator in front of the quantization, and its output.
        end_to_end: the share of equal elements in the whole network.
        alone: the share where both are given the same integers.
        most: the largest difference then, in quanta.
        elements: of the result.
    """

    name: str
    end_to_end: float
    alone: float
    most: int
    elements: int


def layers(model: onnx.ModelProto, feed: Mapping[str, Array], integers: str) -> Iterator[Layer]:
    """The layers of a network whose quantizations have constant zero points."""
    producers = {name: node for node in model.graph.node for name in node.output}
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    ends = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
    ends = [node for node in ends if len(node.input) > 2 and node.input[2] in constants]
    outputs = {node.output[0]: constants[node.input[2]].dtype for node in ends}
    wanted = _reference(model, feed, outputs)
    found = _ours(_with_outputs(model, outputs), feed, integers)
    values = {**feed, **wanted}
    extractor = Extractor(_with_outputs(model, outputs))
    for node in ends:
        (name,) = node.output
        given = {each: values[each] for each in _integers_before(node, producers, constants)}
        part = extractor.extract_model(list(given), [name])
        for declared in part.graph.input:
            declared.CopyFrom(_declared(declared.name, given[declared.name]))
        alone = _ours(part, given, integers)[name]
        differences = np.abs(alone.astype(int) - wanted[name].astype(int))
        before = producers.get(node.input[0])
        yield Layer(
            f"{'input' if before is None else before.op_type} {name}",
            float((found[name] == wanted[name]).mean()),
            float((differences == 0).mean()),
            int(differences.max(initial=0)),
            differences.size,
        )


def _reference(
    model: onnx.ModelProto, feed: Mapping[str, Array], outputs: Mapping[str, np.dtype[Any]]
) -> dict[str, Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    content = _with_outputs(model, outputs).SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return dict(zip(outputs, session.run(list(outputs), dict(feed)), strict=True))


def _with_outputs(model: onnx.ModelProto, outputs: Mapping[str, np.dtype[Any]]) -> onnx.ModelProto:
    """The model with these outputs alone."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.output[:]
    for name, dtype in outputs.items():
        element = helper.np_dtype_to_tensor_dtype(dtype)
        changed.graph.output.append(helper.make_tensor_value_info(name, element, None))
    return changed


def _ours(model: onnx.ModelProto, feed: Mapping[str, Array], integers: str) -> dict[str, Array]:
    passes = ChosenPasses(f"default{{integers={integers}}}")
    built = build(from_onnx(model), threads=1, passes=passes)
    results = built(*(feed[each.name] for each in model.graph.input))
    names = [each.name for each in model.graph.output]
    return dict(zip(names, results if len(names) > 1 else (results,), strict=True))


def _integers_before(
    end: onnx.NodeProto, producers: Mapping[str, onnx.NodeProto], constants: Mapping[str, Array]
) -> list[str]:
    """The results of other quantizations, and the inputs, that a quantization is computed from."""
    pending, found, seen = [end.input[0]], [], set(constants)
    while pending:
        name = pending.pop()
        if not name or name in seen:
            continue
        seen.add(name)
        node = producers.get(name)
        if node is None or node.op_type == "QuantizeLinear":
            found.append(name)
        else:
            pending += node.input
    return found


def _declared(name: str, value: Array) -> onnx.ValueInfoProto:
    element = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, element, value.shape)


def main() -> None:
    """Print a line for each layer, and the share of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    parser.add_argument("model", help="in QDQ form, with inputs of fixed shapes")
    parser.add_argument("--integers", default="always", choices=["always", "never", "auto"])
    parser.add_argument("--seed", type=int, default=0, help="of inputs like those of the zoo")
    given = parser.parse_args()
    model = onnx.load(given.model)
    feed = zoo.example_inputs(from_onnx(given.model), given.seed)
    equal, total = 0.0, 0
    for layer in layers(model, feed, given.integers):
        equal, total = equal + layer.alone * layer.elements, total + layer.elements
        shares = f"{layer.end_to_end:.5f} {layer.alone:.7f}"
        print(f"{shares} at most {layer.most} of {layer.elements:8d} {layer.name}", flush=True)
    differing = total - round(equal)
    print(
        f"layers alone: {differing} of {total} elements differ, {1 - differing / total:.4%} equal"
    )


_Raw = argparse.RawDescriptionHelpFormatter

if __name__ == "__main__":
    main()
