"""Whole networks with dynamic batch, or dynamic height and width, beside the same of fixed size.

    python -m benchmarks.open_networks [--threads 1] [--only unet] [--rounds 40]

Networks of the zoo, and torch modules exported with dynamic axes. For each: milliseconds of the
network of fixed size, of that with dynamic sizes at the same size, the ratio, and the largest
difference of the results. The two alternate; the times are minima, of the processor with one thread
(so that other work beside it counts little), else of the clock.
"""

from __future__ import annotations

import argparse
import io
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

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
    "dcgan": Network((4, 100), BATCH),
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
    clock = time.process_time if options.threads == 1 else time.perf_counter
    print(f"{'network':16} {'fixed':>9} {'dynamic':>9} {'ratio':>6} {'differ':>8}  (ms)")
    for name, network in NETWORKS.items():
        if options.only not in (None, name):
            continue
        fixed, dynamic = (rt.build(m, threads=options.threads) for m in modules(name, network))
        x = np.random.default_rng(0).standard_normal(network.shape).astype("float32")
        one, other = np.asarray(fixed(x)), np.asarray(dynamic(x))
        differ = float(np.abs(one - other).max() / np.abs(one).max())
        runs = partial(fixed, x), partial(dynamic, x)
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(options.rounds):
            for run, found in zip(runs, times, strict=True):
                begin = clock()
                run()
                found.append((clock() - begin) * 1e3)
        a, b = map(min, times)
        print(f"{name:16} {a:9.3f} {b:9.3f} {b / a:6.2f} {differ:8.1e}", flush=True)


if __name__ == "__main__":
    main()
