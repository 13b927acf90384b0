"""Kernels that move more than they compute: bytes a second beside what the machine can do.

    python -m benchmarks.bandwidth --match depthwise

`share` is the time of a plain loop that reads and writes as many bytes, divided by that of the
kernel. Both run many times in one native call, in turns, on one core, so that they meet the same
caches and the same weather; `level` is the smallest cache that holds inputs and outputs together.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.compare import table_line
from benchmarks.machine import machine_description
from benchmarks.moving import Mover
from relay_tune import Model, build, parse, zoo
from relay_tune.ir.module import Module
from relay_tune.runtime.aligned_memory import aligned_bytes
from relay_tune.runtime.cache_sizes import cache_sizes
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types

REFERENCE_SECONDS = 2e-3
"""How long the plain loop runs at a time, roughly."""

REFERENCE_RATE = 50e9

HEAD = '#[version = "0.0.5"]\n'


@dataclass(frozen=True, slots=True)
class Kernel:
    """One program: its parameters as `%name: shape`, weights last, and its body in Relay text."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    body: str
    weights: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of a kernel: bytes in and out, seconds, and seconds of the plain loop."""

    name: str
    bytes: int
    level: str
    kernels: int
    seconds: float
    limit_seconds: float

    @property
    def share(self) -> float:
        """How near the kernel is to the limit, 1 or a little more at best."""
        return self.limit_seconds / self.seconds


def kernels() -> list[Kernel]:
    """All kernels that are measured."""
    return [
        *depthwise_kernels(),
        *elementwise_kernels(),
        *pooling_kernels(),
        *movement_kernels(),
        *reduction_kernels(),
        *row_kernels(),
        *product_kernels(),
        *near_kernels(),
    ]


def depthwise_kernels() -> list[Kernel]:
    """The 3 x 3 depthwise convolutions of MobileNet v2, on padded images, channels last."""
    shapes = (
        (32, 112, 1),
        (96, 112, 2),
        (144, 56, 1),
        (144, 56, 2),
        (192, 28, 1),
        (384, 14, 1),
        (576, 14, 2),
        (960, 7, 1),
    )
    return [depthwise(*shape) for shape in shapes]


def depthwise(channels: int, size: int, stride: int) -> Kernel:
    """One depthwise convolution with bias and ReLU."""
    body = (
        f"nn.relu(add(nn.conv2d(%a, %b, strides=[{stride}, {stride}], groups={channels}, "
        f'channels={channels}, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO"), %c))'
    )
    shapes = ((1, size + 2, size + 2, channels), (3, 3, 1, channels), (channels,))
    return Kernel(f"depthwise {channels}x{size} /{stride}", shapes, body, weights=2)


def elementwise_kernels() -> list[Kernel]:
    """Chains of arithmetic on data of the second and third cache."""
    small, large = (1, 28, 28, 128), (1, 56, 56, 256)
    chain = "nn.relu(add(multiply(%a, %c), %b))"
    return [
        Kernel("scale, residual, relu L2", (small, small, small), chain),
        Kernel("scale, residual, relu L3", (large, large, large), chain),
        Kernel("bias, relu L2", (small, (128,)), "nn.relu(add(%a, %b))", weights=1),
        Kernel("hard swish L2", (small,), "multiply(%a, clip(%a, a_min=0f, a_max=6f))"),
        Kernel("add to every row", ((512, 768), (512, 1)), "add(%a, %b)"),
        Kernel("odd sizes", ((127, 333), (127, 333)), "nn.relu(add(%a, %b))"),
    ]


def pooling_kernels() -> list[Kernel]:
    """Pools over windows and over whole images."""
    max_pool = 'nn.max_pool2d(%a, pool_size=[{0}, {0}], strides=[2, 2], layout="{1}")'
    global_pool = 'nn.global_avg_pool2d(%a, layout="{0}")'
    return [
        Kernel("max pool 3x3/2 channels last", ((1, 55, 55, 64),), max_pool.format(3, "NHWC")),
        Kernel("max pool 2x2/2 channels last", ((1, 56, 56, 128),), max_pool.format(2, "NHWC")),
        Kernel("max pool 3x3/2 channels first", ((1, 64, 55, 55),), max_pool.format(3, "NCHW")),
        Kernel("max pool 2x2/2 channels first", ((1, 128, 56, 56),), max_pool.format(2, "NCHW")),
        Kernel("global pool channels last", ((1, 7, 7, 2048),), global_pool.format("NHWC")),
        Kernel("global pool channels first", ((1, 2048, 7, 7),), global_pool.format("NCHW")),
    ]


def movement_kernels() -> list[Kernel]:
    """Transposes, padding, joining."""
    first, last = (1, 64, 56, 56), (1, 56, 56, 64)
    return [
        Kernel("transpose 512x512", ((512, 512),), "transpose(%a, axes=[1, 0])"),
        Kernel("transpose 333x127", ((333, 127),), "transpose(%a, axes=[1, 0])"),
        Kernel("to channels last", (first,), "transpose(%a, axes=[0, 2, 3, 1])"),
        Kernel("to channels first", (last,), "transpose(%a, axes=[0, 3, 1, 2])"),
        Kernel("image to channels last", ((1, 3, 224, 224),), "transpose(%a, axes=[0, 2, 3, 1])"),
        Kernel("split heads", ((1, 128, 12, 64),), "transpose(%a, axes=[0, 2, 1, 3])"),
        Kernel("pad", (last,), "nn.pad(%a, 0f, pad_width=[[0, 0], [1, 1], [1, 1], [0, 0]])"),
        Kernel(
            "pad rows",
            ((1, 3, 224, 224),),
            "nn.pad(%a, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])",
        ),
        Kernel("join", (last, last), "concatenate((%a, %b), axis=3)"),
    ]


def reduction_kernels() -> list[Kernel]:
    """Sums and maxima along each axis."""
    matrix, cube = (512, 768), (32, 96, 128)
    return [
        Kernel("sum of rows", (matrix,), "sum(%a, axis=[1])"),
        Kernel("sum of columns", (matrix,), "sum(%a, axis=[0])"),
        Kernel("sum of all", (matrix,), "sum(%a)"),
        Kernel("maximum, outer axis", (cube,), "max(%a, axis=[0])"),
        Kernel("maximum, middle axis", (cube,), "max(%a, axis=[1])"),
        Kernel("maximum, inner axis", (cube,), "max(%a, axis=[2])"),
        Kernel("mean of outer and inner axis", (cube,), "mean(%a, axis=[0, 2])"),
    ]


def row_kernels() -> list[Kernel]:
    """Softmax and layer normalisation of rows."""
    norm = "nn.layer_norm(%a, %b, %c)"
    return [
        Kernel("softmax 1536x128", ((1536, 128),), "nn.softmax(%a)"),
        Kernel("softmax 64x1000", ((64, 1000),), "nn.softmax(%a)"),
        Kernel("layer norm 128x768", ((128, 768), (768,), (768,)), norm, weights=2),
        Kernel("layer norm 512x256", ((512, 256), (256,), (256,)), norm, weights=2),
    ]


def product_kernels() -> list[Kernel]:
    """Products of a matrix of weights and a vector; the weights count as read."""
    return [
        Kernel(f"matrix-vector {rows}x{depth}", ((1, depth), (rows, depth)), "nn.dense(%a, %b)", 1)
        for rows, depth in ((256, 256), (512, 512), (512, 3136))
    ]


def near_kernels() -> list[Kernel]:
    """Some of the kernels on data of the first cache: what their arithmetic takes by itself."""
    norm, few = "nn.layer_norm(%a, %b, %c)", ((32, 128),)
    return [
        depthwise(32, 8, 1),
        Kernel("power 32x128", few, "exp(%a)"),
        Kernel("softmax 32x128", few, "nn.softmax(%a)"),
        Kernel("softmax 2x1000", ((2, 1000),), "nn.softmax(%a)"),
        Kernel("layer norm 4x768", ((4, 768), (768,), (768,)), norm, weights=2),
        Kernel("layer norm 16x256", ((16, 256), (256,), (256,)), norm, weights=2),
    ]


def measure(kernel: Kernel, rounds: int) -> Row:
    """Run the kernel and the plain loop in turns."""
    module, inputs = program(kernel)
    inputs = [_aligned(array) for array in inputs]
    model = build(module, threads=1)
    assert isinstance(model, Model)
    outputs = [np.asarray(model(*inputs))]
    compiled = model.compiled()
    count = sum(len(region.steps) for region in compiled.regions)
    read, written = (sum(array.nbytes for array in arrays) for arrays in (inputs, outputs))
    read += 4 * sum(prod(shape) for shape in kernel.shapes[len(inputs) :])
    runs = max(1, int(REFERENCE_SECONDS / ((read + written) / REFERENCE_RATE)))
    limit = Mover(read, written, runs)
    seconds, limits = [], []
    for _ in range(rounds):
        seconds.append(model.repeat_seconds(*inputs, runs=runs))
        start = perf_counter()
        limit()
        limits.append((perf_counter() - start) / runs)
    total = read + written
    return Row(kernel.name, total, _level(total), count, median(seconds), median(limits))


def _level(total: int) -> str:
    """The nearest cache that holds so many bytes."""
    levels = enumerate(cache_sizes(), start=1)
    return next((f"L{level}" for level, size in levels if total <= size), "memory")


def _aligned(array: np.ndarray) -> np.ndarray:
    """A copy that begins on a cache line, as tensors between kernels do."""
    memory = aligned_bytes(array.nbytes)
    memory[:] = array.reshape(-1).view(np.uint8)
    return memory.view(array.dtype).reshape(array.shape)


def program(kernel: Kernel) -> tuple[Module, list[np.ndarray]]:
    """The kernel with its weights as constants, and inputs for it."""
    names = "abcd"[: len(kernel.shapes)]
    params = ", ".join(
        f"%{name}: Tensor[({', '.join(map(str, shape))},), float32]"
        for name, shape in zip(names, kernel.shapes, strict=True)
    )
    module = infer_types(parse(f"{HEAD}def @main({params}) {{ {kernel.body} }}"))
    first = len(names) - kernel.weights
    random = np.random.default_rng(0)
    weights = {
        name: random.standard_normal(shape, np.float32)
        for name, shape in zip(names[first:], kernel.shapes[first:], strict=True)
    }
    inputs = list(zoo.example_inputs(module).values())[:first]
    return BindParameters(weights)(module), inputs


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Kernels that are limited by the caches.")
    parser.add_argument("--match", default="", help="only kernels whose name has this in it")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="file for the results")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table: bytes in kilobytes, time in microseconds, speed in gigabytes a second."""
    options = parse_options(arguments)
    titles = ["kernel", "level", "kernels", "KB", "us", "GB/s", "limit GB/s", "share"]
    print(table_line(titles), table_line(["---"] * len(titles)), sep="\n", flush=True)
    rows = []
    for kernel in kernels():
        if options.match in kernel.name:
            rows.append(measure(kernel, options.rounds))
            print(table_line(_cells(rows[-1])), flush=True)
    if rows:
        print(
            f"\ngeometric mean of the shares: {prod(r.share for r in rows) ** (1 / len(rows)):.0%}"
        )
    if options.json is not None:
        document = {"machine": machine_description(), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(document, indent=1))
    return 0


def _cells(row: Row) -> list[str]:
    speeds = (row.bytes / seconds / 1e9 for seconds in (row.seconds, row.limit_seconds))
    return [
        row.name,
        row.level,
        str(row.kernels),
        f"{row.bytes / 1e3:.0f}",
        f"{1e6 * row.seconds:.1f}",
        *(f"{speed:.0f}" for speed in speeds),
        f"{row.share:.0%}",
    ]


if __name__ == "__main__":
    sys.exit(main())
