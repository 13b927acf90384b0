"""Gradients of networks beside those of torch, which computes the same ONNX file.

    python -m benchmarks.network_gradients [NAME | FILE.onnx ...] [--small] [--zoo | --other]

Networks are those of the zoo, exported, and those of `benchmarks.other_networks`, or files. The
derivatives of the outputs, weighted at random, with regard to all inputs of floats and all weights
are compared with those of torch in float64, each relative to the largest element of its tensor, and
so are those of torch in float32. Where ours miss 1e-4, the network is asked again in float64. The
verdict is "ok" within 1e-4, "as torch" where torch's float32 misses 1e-4 as well, "FLIPS" where it
does not, "WRONG" where float64 is wrong or a gradient is missing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import relay_tune as rt
from benchmarks.other_networks import NETWORKS
from benchmarks.torch_nodes import run, weights_of

BOUND = 1e-4
ZERO = 1e-12
"""A gradient of float64 below this share of a network's largest is rounding."""
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Question:
    """A network with inputs, and what its outputs are weighted with.

    Attributes:
        model: the network; all weights are initializers.
        feeds: its inputs by name.
        seeds: a tensor for each output.
    """

    model: onnx.ModelProto
    feeds: Arrays
    seeds: tuple[np.ndarray, ...]


def main() -> int:
    """Print a line for each network; 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="networks, or files of some; all networks")
    parser.add_argument("--small", action="store_true", help="small forms of the zoo's networks")
    parser.add_argument("--zoo", action="store_true", help="those of the zoo alone")
    parser.add_argument("--other", action="store_true", help="those that are not in the zoo alone")
    options = parser.parse_args()
    torch.set_num_threads(1)
    wrong = 0
    files = [Path(name) for name in options.names if name.endswith(".onnx")]
    for name, make in _networks(options.small, options.zoo, options.other).items():
        if not options.names or name in options.names:
            wrong += not _report(name, make())
    for file in files:
        wrong += not _report(file.stem, onnx.load(file))
    return 1 if wrong else 0


def _networks(small: bool, zoo: bool, other: bool) -> dict[str, Callable[[], onnx.ModelProto]]:
    def exported(name: str) -> Callable[[], onnx.ModelProto]:
        return lambda: rt.to_onnx(rt.zoo.build(name, small=small))

    found = {} if other and not zoo else {name: exported(name) for name in rt.zoo.names()}
    return found if zoo and not other else found | NETWORKS


def _report(name: str, model: onnx.ModelProto) -> bool:
    start = time.perf_counter()
    asked = _question(model)
    wide = _widened(asked)
    expected = _of_torch(wide)
    found = _of_ours(asked)
    ours, theirs = _errors(found, expected), _errors(_of_torch(asked), expected)
    missing = sorted(expected.keys() - found.keys() - _statistics(model))
    note = f"; NO GRADIENT OF {', '.join(missing)}" if missing else ""
    right = True
    if max(ours.values()) > BOUND:
        again = max(_errors(_of_ours(wide), expected).values())
        right = again <= BOUND
        note += f"; in float64 {again:.1e}"
    verdict = _verdict(max(ours.values()), max(theirs.values()), right=right and not missing)
    seconds = time.perf_counter() - start
    print(f"{name:18} {verdict:8} {len(ours):4} gradients, worst {_worst(ours)}, "
          f"torch {_worst(theirs)}{note} [{seconds:.0f} s]", flush=True)  # fmt: skip
    return verdict in {"ok", "as torch"}


def _statistics(model: onnx.ModelProto) -> set[str]:
    """Moving statistics of normalisations, which training leaves as they are."""
    norms = (node for node in model.graph.node if node.op_type == "BatchNormalization")
    return {name for node in norms for name in node.input[3:]}


def _verdict(ours: float, theirs: float, *, right: bool) -> str:
    """What the largest errors in float32 say of a network that is right in float64, or not."""
    if not right:
        return "WRONG"
    if ours <= BOUND:
        return "ok"
    return "as torch" if theirs > BOUND else "FLIPS"


def _worst(errors: Mapping[str, float]) -> str:
    worst = max(errors, key=lambda each: errors[each])
    late = sum(error > BOUND for error in errors.values())
    return f"{errors[worst]:.1e} ({worst}" + (f", {late} above {BOUND:g})" if late else ")")


def _question(model: onnx.ModelProto) -> Question:
    generator = np.random.default_rng(0)
    module = rt.from_onnx(model)
    feeds = {
        name: value if value.dtype.kind != "f"
        else generator.standard_normal(value.shape).astype(value.dtype)
        for name, value in rt.zoo.example_inputs(module).items()
    }  # fmt: skip
    outputs = run(model, {n: torch.from_numpy(v) for n, v in feeds.items()}, weights_of(model))
    seeds = [generator.standard_normal(tuple(each.shape)) for each in outputs]
    return Question(model, feeds, tuple(seed.astype(np.float32) for seed in seeds))


def _widened(asked: Question) -> Question:
    """The same in float64: all floats of the file but scales, which have to be float32."""
    model = onnx.ModelProto()
    model.CopyFrom(asked.model)
    graph = model.graph
    kept = {name for node in graph.node if node.op_type == "Resize" for name in node.input[1:]}
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and tensor.name not in kept:
            wide = numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))
    for node in graph.node:
        for attribute in node.attribute:
            is_value = attribute.type == onnx.AttributeProto.TENSOR
            if is_value and attribute.t.data_type == TensorProto.FLOAT:
                wide = numpy_helper.to_array(attribute.t).astype(np.float64)
                attribute.t.CopyFrom(numpy_helper.from_array(wide))
            if node.op_type == "Cast" and attribute.i == TensorProto.FLOAT:
                attribute.CopyFrom(helper.make_attribute("to", TensorProto.DOUBLE))
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del graph.value_info[:]
    return Question(
        model,
        {name: _wide(value) for name, value in asked.feeds.items()},
        tuple(map(_wide, asked.seeds)),
    )


def _wide(value: np.ndarray) -> np.ndarray:
    return value.astype(np.float64) if value.dtype == np.float32 else value


def _of_torch(asked: Question) -> dict[str, np.ndarray]:
    """Gradients of inputs and weights that the outputs depend on, scalars left out."""
    feeds = {name: torch.from_numpy(value) for name, value in asked.feeds.items()}
    weights = weights_of(asked.model)
    chosen = {
        name: value
        for name, value in (feeds | weights).items()
        if value.is_floating_point() and (name in feeds or value.dim())
    }
    for value in chosen.values():
        value.requires_grad_()
    outputs = run(asked.model, feeds, weights)
    torch.autograd.backward(outputs, [torch.from_numpy(seed) for seed in asked.seeds])
    return {name: value.grad.numpy() for name, value in chosen.items() if value.grad is not None}


def _of_ours(asked: Question) -> dict[str, np.ndarray]:
    module = rt.from_onnx(asked.model)
    weights = rt.training.parameters_of(module)
    inputs = [name for name, value in asked.feeds.items() if value.dtype.kind == "f"]
    wrt = [*inputs, *weights]
    model = rt.build(rt.vjp(module, wrt=wrt))
    seed = asked.seeds[0] if len(asked.seeds) == 1 else asked.seeds
    _, found = model(*asked.feeds.values(), *weights.values(), seed)
    return dict(zip(wrt, found, strict=True))


def _errors(found: Arrays, expected: Arrays) -> dict[str, float]:
    """The largest difference of each tensor of both, relative to its largest element.

    Gradients that are zero but for rounding are compared with the largest of all: that of the
    keys' bias in attention, or of a bias that a normalisation takes away.
    """
    largest = {name: float(np.abs(value).max(initial=0.0)) for name, value in expected.items()}
    most = max(largest.values())
    errors = {}
    for name in expected.keys() & found.keys():
        scale = largest[name] if largest[name] > ZERO * most else most
        errors[name] = float(np.abs(found[name] - expected[name]).max(initial=0.0)) / scale
    return errors


if __name__ == "__main__":
    sys.exit(main())
