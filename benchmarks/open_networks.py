"""Whole networks with dynamic batch, or dynamic height and width, beside the same of fixed size.

    python -m benchmarks.open_networks [--threads 1] [--only unet] [--rounds 40]

Networks of the zoo, and torch modules exported with dynamic axes. For each: milliseconds of the
network of fixed size, of that with dynamic sizes at the same size, the ratio, the largest
difference of the results, and how many of the kernels that the dynamic network ran are code for any
size (small batches have code of their own, and so have layers whose sizes are known). The two
alternate; the times are minima, of the processor with one thread (so that other work beside it
counts little), else of the clock. Before, the same dynamic network runs another size, and the
interpreter's answer is expected.
"""

from __future__ import annotations

import argparse
import io
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

import relay_tune as rt
from benchmarks.open_networks_torch import Dilated, SuperResolution, UNet, vgg
from relay_tune.ir.dim import Symbol
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.transform.fix_input_shapes import FixInputShapes
from relay_tune.zoo import build as zoo

Shape = tuple[int, ...]
IMAGE = {2: "h", 3: "w"}
BATCH = {0: "n"}


@dataclass(frozen=True)
class Network:
    """A network of one input.

    Attributes:
        shape: of the input.
        dynamic: names of the axes that are dynamic.
        module: for torch modules, what makes it; else the name is one of the zoo.
    """

    shape: Shape
    dynamic: dict[int, str]
    module: Callable[[], nn.Module] | None = None


NETWORKS = {
    "squeezenet1_1": Network((1, 3, 224, 224), IMAGE),
    "resnet18": Network((1, 3, 224, 224), IMAGE),
    "mobilenet_v2": Network((1, 3, 224, 224), IMAGE),
    "vgg": Network((1, 3, 96, 96), IMAGE, vgg),
    "unet": Network((1, 3, 96, 96), IMAGE, UNet),
    "super_resolution": Network((1, 3, 96, 96), IMAGE, SuperResolution),
    "dilated": Network((1, 3, 160, 160), IMAGE, Dilated),
    "mlp": Network((8, 784), BATCH),
    "nature_dqn": Network((4, 4, 84, 84), BATCH),
    "dcgan": Network((4, 100, 1, 1), BATCH),
}


def exported(network: Network, *, dynamic: bool) -> Module:
    """A torch module as torch exports it."""
    assert network.module is not None
    torch.manual_seed(0)
    content = io.BytesIO()
    torch.onnx.export(
        network.module().eval(),
        (torch.randn(network.shape),),
        content,
        dynamo=False,
        opset_version=18,
        input_names=["x"],
        dynamic_axes={"x": network.dynamic} if dynamic else None,
    )
    return rt.from_onnx(content.getvalue())


def modules(name: str, network: Network) -> tuple[Module, Module]:
    """The network of fixed size, and that with dynamic sizes."""
    if network.module is not None:
        return exported(network, dynamic=False), exported(network, dynamic=True)
    fixed = zoo(name, batch=network.shape[0])
    param = fixed.main.params[0]
    type_ = param.annotation or param.type
    assert isinstance(type_, TensorType)
    axes = enumerate(type_.shape)
    names = network.dynamic
    shape = tuple(Symbol(names[axis]) if axis in names else dim for axis, dim in axes)
    return fixed, FixInputShapes({param.name: shape})(fixed)


def other_shape(network: Network) -> Shape:
    """A shape of the input that nothing was built for: fewer samples, or 64 x 64 pixels."""
    sizes = {"n": 3, "h": 64, "w": 64}
    return tuple(
        sizes[network.dynamic[axis]] if axis in network.dynamic else size
        for axis, size in enumerate(network.shape)
    )


def differ(one: object, other: object) -> float:
    """The largest difference, by the largest element."""
    first, second = np.asarray(one), np.asarray(other)
    return float(np.abs(first - second).max() / np.abs(first).max())


def dynamic_kernels(model: rt.Model, x: np.ndarray) -> tuple[int, int]:
    """How many kernels of a run are code for any size, and how many there are.

    Raises SystemExit if none is.
    """
    steps = {step.title: step for region in model.compiled().regions for step in region.steps}
    events = model.trace(x, runs=1).events
    ran = {event.kernel: steps[event.title] for event in events}
    found = sum(step.work is None for step in ran.values())
    if not found:
        raise SystemExit("The dynamic network ran code for fixed sizes alone.")
    return found, len(ran)


def least_times(
    models: tuple[rt.Model, rt.Model], x: np.ndarray, rounds: int, clock: Callable[[], float]
) -> tuple[float, float]:
    """The least milliseconds of a run of each, in turns."""
    least = [float("inf"), float("inf")]
    for _ in range(rounds):
        for place, model in enumerate(models):
            begin = clock()
            model(x)
            least[place] = min(least[place], (clock() - begin) * 1e3)
    return least[0], least[1]


def line(name: str, network: Network, threads: int, rounds: int) -> str:
    """The line of a network; SystemExit if the dynamic one is wrong for another size."""
    pair = modules(name, network)
    fixed, dynamic = (rt.build(module, threads=threads) for module in pair)
    rng = np.random.default_rng(0)
    unseen = rng.standard_normal(other_shape(network)).astype("float32")
    if differ(rt.interpret(pair[1], unseen), dynamic(unseen)) > 1e-4:
        raise SystemExit(f"{name} is wrong for {unseen.shape}.")
    x = rng.standard_normal(network.shape).astype("float32")
    largest = differ(fixed(x), dynamic(x))
    kernels = "{}/{}".format(*dynamic_kernels(dynamic, x))
    clock = time.process_time if threads == 1 else time.perf_counter
    a, b = least_times((fixed, dynamic), x, rounds, clock)
    return f"{name:16} {a:9.3f} {b:9.3f} {b / a:6.2f} {largest:8.1e} {kernels:>8}"


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=NETWORKS)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    head = ("network", "fixed", "dynamic", "ratio", "differ", "kernels")
    print("{:16} {:>9} {:>9} {:>6} {:>8} {:>8}  (ms)".format(*head))
    for name, network in NETWORKS.items():
        if options.only in (None, name):
            print(line(name, network, options.threads, options.rounds), flush=True)


if __name__ == "__main__":
    main()
