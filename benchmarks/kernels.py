"""Single operators: GFLOP/s beside the measured limit of the machine and other systems.

    python -m benchmarks.kernels --threads 1 --log tuning.db --direct

The limit is measured in the same run and takes turns with the kernels. Convolutions count the taps
on the padding too, as is usual, so a kernel that skips them can pass the limit, which is that of
float32 in vector registers: kernels on matrix registers pass it, too. So do algorithms with fewer
multiplications; `--direct` measures our kernels without them as well.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks.compare import table_line
from benchmarks.interleave import interleaved_medians
from benchmarks.machine import machine_description
from benchmarks.models import Inputs
from benchmarks.peak import operations, peak_run
from benchmarks.systems import DIRECT_SYSTEM, System, systems
from benchmarks.tile_peak import operations as tile_operations
from benchmarks.tile_peak import tile_peak_run
from relay_tune import zoo
from relay_tune.cli.difference import largest_difference
from relay_tune.cli.peers.peer import Run
from relay_tune.codegen.target import native_target
from relay_tune.errors import RelayError
from relay_tune.frontend.onnx_export.to_onnx import to_onnx
from relay_tune.ir.expr import Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.op.nn.matmul import dense, matmul
from relay_tune.zoo.layers import conv, image_input, network
from relay_tune.zoo.weights import Weights

LIMIT = "limit"
TILE_LIMIT = "limit of a tile"
"""The limit where operands are loaded from the first cache (see `benchmarks.tile_peak`)."""

TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Kernel:
    """One operator.

    Attributes:
        flops: floating-point operations, a multiply-add counts as two.
        module: the operator as a program.
        numpy: the same in numpy, given the inputs; None where numpy has no fast form.
    """

    name: str
    flops: int
    module: Module
    numpy: Callable[[Inputs], Run] | None = None


@dataclass(frozen=True, slots=True)
class Convolution:
    """A square convolution with `same` padding on a square image."""

    inputs: int
    outputs: int
    kernel: int
    size: int
    stride: int = 1


RESNET_CONVOLUTIONS = (
    Convolution(3, 64, 7, 224, 2),
    Convolution(64, 64, 3, 56),
    Convolution(128, 128, 3, 28),
    Convolution(256, 256, 3, 14),
    Convolution(512, 512, 3, 7),
    Convolution(256, 64, 1, 56),
    Convolution(64, 256, 1, 56),
    Convolution(1024, 256, 1, 14),
    Convolution(2048, 512, 1, 7),
)
ODD_CONVOLUTIONS = (
    Convolution(3, 64, 3, 224),
    Convolution(3, 32, 3, 224, 2),
    Convolution(37, 75, 3, 29),
    Convolution(127, 333, 1, 13),
)
SQUARE_SIZES = (512, 1024, 2048)
ODD_SIZES = (127, 333, 1000)
BERT_SHAPES = ((128, 768, 768), (128, 768, 3072), (128, 3072, 768))
"""(rows, depth, columns)"""
ODD_SHAPES = ((127, 333, 1000), (50, 1000, 333))


def kernels() -> list[Kernel]:
    """All operators that are measured."""
    return [
        *(square_matmul(size) for size in SQUARE_SIZES),
        *(dense_kernel(*shape) for shape in BERT_SHAPES),
        *(convolution_kernel(shape) for shape in RESNET_CONVOLUTIONS),
        *(square_matmul(size) for size in ODD_SIZES),
        *(dense_kernel(*shape) for shape in ODD_SHAPES),
        *(convolution_kernel(shape) for shape in ODD_CONVOLUTIONS),
    ]


def square_matmul(size: int) -> Kernel:
    """The product of two inputs."""
    type_ = TensorType((size, size), "float32")
    a, b = Var("a", type_), Var("b", type_)
    module = network((a, b), matmul(a, b))
    return Kernel(f"matmul {size}", 2 * size**3, module, _numpy_matmul)


def dense_kernel(rows: int, depth: int, columns: int) -> Kernel:
    """The product of an input with a constant weight."""
    a = Var("a", TensorType((rows, depth), "float32"))
    weight = Weights(0).he((columns, depth), depth)
    module = network((a,), dense(a, weight))
    columns_last = np.ascontiguousarray(weight.data.T)

    def with_numpy(inputs: Inputs) -> Run:
        return lambda: [inputs["a"] @ columns_last]

    name = f"dense {rows}x{depth}x{columns}"
    return Kernel(name, 2 * rows * depth * columns, module, with_numpy)


def _numpy_matmul(inputs: Inputs) -> Run:
    return lambda: [inputs["a"] @ inputs["b"]]


def convolution_kernel(shape: Convolution) -> Kernel:
    """A convolution with a constant weight."""
    data = image_input(1, shape.inputs, shape.size)
    channels = (shape.inputs, shape.outputs)
    body = conv(Weights(0), data, channels, shape.kernel, stride=shape.stride)
    pixels = (shape.size // shape.stride) ** 2
    flops = 2 * pixels * shape.inputs * shape.outputs * shape.kernel**2
    name = f"conv {shape.kernel}x{shape.kernel} {shape.inputs}-{shape.outputs} @{shape.size}"
    suffix = f" /{shape.stride}" if shape.stride > 1 else ""
    return Kernel(name + suffix, flops, network((data,), body))


def measure(
    kernel: Kernel,
    threads: int,
    candidates: Sequence[System],
    peak: Callable[[], None],
    tile_peak: Callable[[], None],
) -> dict[str, float]:
    """GFLOP/s by system; raises RelayError if the outputs of two systems differ."""
    inputs = zoo.example_inputs(kernel.module)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.onnx"
        onnx.save(to_onnx(kernel.module), path)
        runs = {system.name: system.prepare(path, inputs, threads) for system in candidates}
    if kernel.numpy is not None:
        runs["numpy"] = kernel.numpy(inputs)
    _require_agreement(kernel.name, runs)
    seconds = interleaved_medians({**runs, LIMIT: peak, TILE_LIMIT: tile_peak})
    rates = {name: kernel.flops / time / 1e9 for name, time in seconds.items()}
    target = native_target()
    rates[LIMIT] = threads * operations(target) / seconds[LIMIT] / 1e9
    rates[TILE_LIMIT] = threads * tile_operations(target) / seconds[TILE_LIMIT] / 1e9
    return rates


def _require_agreement(kernel: str, runs: dict[str, Run]) -> None:
    outputs = {name: [np.array(value) for value in run()] for name, run in runs.items()}
    (first, expected), *others = outputs.items()
    for name, values in others:
        if not largest_difference(values, expected) <= TOLERANCE:
            raise RelayError(f"{name} and {first} give different results for {kernel}.")


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Compare single operators with other systems.")
    parser.add_argument("--match", default="", help="only kernels whose name has this in it")
    parser.add_argument("--log", help="a tuning log; without it only untuned builds are measured")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--direct", action="store_true", help="ours computed directly, too: no Winograd, no halves"
    )
    parser.add_argument("--json", type=Path, help="file for the results")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table in GFLOP/s."""
    options = parse_options(arguments)
    candidates = [*systems(options.log), *([DIRECT_SYSTEM] if options.direct else [])]
    names = [*(system.name for system in candidates), "numpy", LIMIT, TILE_LIMIT]
    titles = ["kernel", *names, "share of the limit"]
    if options.direct:
        titles.append("direct share")
    print(table_line(titles), table_line(["---"] * len(titles)), sep="\n", flush=True)
    results: dict[str, Any] = {}
    peak, tile_peak = peak_run(options.threads), tile_peak_run(options.threads)
    for kernel in kernels():
        if options.match in kernel.name:
            rates = measure(kernel, options.threads, candidates, peak, tile_peak)
            print(table_line(_cells(kernel.name, rates, names)), flush=True)
            results[kernel.name] = rates
    if options.json is not None:
        document = {"machine": machine_description(), "threads": options.threads, "rates": results}
        options.json.write_text(json.dumps(document, indent=1))
    return 0


def _cells(name: str, rates: dict[str, float], names: Sequence[str]) -> list[str]:
    """One line of the table; the share is that of our best build, that of direct code follows."""
    ours = [rate for system, rate in rates.items() if system.startswith("relay_tune")]
    direct = [rates[DIRECT_SYSTEM.name]] if DIRECT_SYSTEM.name in rates else []
    values = [f"{rates[each]:.0f}" if each in rates else "-" for each in names]
    return [name, *values, *(f"{rate / rates[LIMIT]:.0%}" for rate in (max(ours), *direct))]


def limit_numpy(threads: int) -> None:
    """Start this program anew unless numpy uses so many threads, which it reads when loaded."""
    wanted = {name: str(threads) for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    if any(os.environ.get(name) != count for name, count in wanted.items()):
        words = [sys.executable, "-m", "benchmarks.kernels", *sys.argv[1:]]
        os.execve(sys.executable, words, {**os.environ, **wanted})


if __name__ == "__main__":
    limit_numpy(parse_options(None).threads)
    sys.exit(main())
