"""Convolutions and products with their gradients: GFLOP/s, the share of the peak, the ratio.

    python -m benchmarks.gradient_kernels [--match s2] [--threads 1] [--kernel-layout OIHW]

Each row is an operator; its gradients are what `rt.vjp` makes of it. Images have their channels
last, as inside a network; all operands are arguments, and results are written to given memory, as
inside a network: what has new pages in each call waits for the system to make them. All begin on
cache lines, as there: arrays of numpy do not. Counted are the direct sums, so that Winograd's
filtering can pass the peak, which is measured in turns with the kernels.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import relay_tune as rt
from benchmarks.compare import table_line
from benchmarks.interleave import interleaved_medians
from benchmarks.peak import operations, peak_run
from relay_tune.codegen.target import native_target
from relay_tune.ir.expr import Function, TupleGetItem
from relay_tune.ir.module import Module
from relay_tune.op.elements import integer_shape
from relay_tune.runtime.aligned_memory import aligned_array
from relay_tune.runtime.model import Model
from relay_tune.typing.infer import infer_types

PEAK = "peak"
FORWARD = "forward"
KINDS = (FORWARD, "data gradient", "weight gradient")


@dataclass(frozen=True, slots=True)
class Case:
    """One operator.

    Attributes:
        flops: of its direct sums, which are those of each gradient as well; a multiply-add is two.
        program: the operator in Relay text, a function of data and weight.
    """

    name: str
    flops: int
    program: str


def convolution(
    inputs: int,
    outputs: int,
    window: int,
    stride: int,
    size: int,
    batch: int,
    *,
    kernel_layout: str = "HWIO",
    groups: int = 1,
    transposed: bool = False,
) -> Case:
    """A square convolution of square images, with the padding that keeps their size."""
    pad = window // 2
    depth = inputs // groups
    letters = {"O": outputs, "I": depth, "H": window, "W": window}
    if transposed:
        letters |= {"O": outputs // groups, "I": inputs}
    kernel = ", ".join(str(letters[letter]) for letter in kernel_layout)
    pixels = batch * (size if transposed else -(-size // stride)) ** 2
    name = f"{'transposed ' if transposed else ''}{window}x{window} s{stride}"
    title = f"{name} {inputs}-{outputs} @{size} x{batch}{f' groups {groups}' if groups > 1 else ''}"
    extra = f", output_padding=({stride - 1}, {stride - 1})" if transposed else ""
    program = f"""
#[version = "0.0.5"]
def @main(%x: Tensor[({batch}, {size}, {size}, {inputs}), float32],
          %w: Tensor[({kernel}), float32]) {{
  nn.conv2d{"_transpose" if transposed else ""}(%x, %w, strides=({stride}, {stride}),
    padding=({pad}, {pad}, {pad}, {pad}), groups={groups}, data_layout="NHWC",
    kernel_layout="{kernel_layout}"{extra})
}}
"""
    return Case(title, 2 * pixels * depth * outputs * window**2, program)


def product(rows: int, depth: int, columns: int) -> Case:
    """A dense layer: rows x depth by columns x depth."""
    program = f"""
#[version = "0.0.5"]
def @main(%x: Tensor[({rows}, {depth}), float32], %w: Tensor[({columns}, {depth}), float32]) {{
  nn.dense(%x, %w)
}}
"""
    return Case(f"dense {rows}x{depth}x{columns}", 2 * rows * depth * columns, program)


def cases(kernel_layout: str) -> Iterator[Case]:
    """All operators that are measured."""
    make = partial(convolution, kernel_layout=kernel_layout)
    for batch in (1, 32):
        yield make(64, 64, 3, 1, 56, batch)
        yield make(64, 128, 3, 2, 56, batch)
        yield make(256, 512, 1, 2, 56, batch)
        yield make(64, 256, 1, 1, 56, batch)
    for width, size in ((64, 32), (128, 16), (256, 8)):
        yield make(width, width, 3, 1, size, 32)
        yield make(width, 2 * width, 3, 2, size, 32)
        yield make(width, 2 * width, 1, 2, size, 32)
    yield make(512, 512, 3, 1, 4, 32)
    yield make(128, 64, 3, 2, 14, 8, transposed=True)
    yield make(256, 128, 3, 2, 7, 8, transposed=True)
    yield make(128, 128, 3, 1, 28, 8, groups=4)
    yield make(144, 144, 3, 1, 28, 8, groups=144)
    yield product(64, 784, 512)
    yield product(128, 768, 3072)
    yield product(512, 512, 512)


def programs(case: Case) -> dict[str, Module]:
    """The operator, and the functions that compute the gradients of data and of weight alone."""
    module = rt.parse(case.program)
    gradients = [_gradient(module, number) for number in (0, 1)]
    return dict(zip(KINDS, (module, *gradients), strict=True))


def _gradient(module: Module, number: int) -> Module:
    pair = rt.vjp(module, wrt=number)
    main = pair.main
    body = TupleGetItem(TupleGetItem(main.body, 1), 0)
    function = Function(main.params, body, None, main.type_params, main.attributes)
    return infer_types(pair.with_function("main", function))


def run_of(model: Model) -> partial[Any]:
    """A call of a model with random inputs and memory for its result, all on cache lines."""
    generator = np.random.default_rng(0)
    inputs, (result,) = (
        [aligned_array(integer_shape(type_), np.dtype(np.float32)) for type_ in types.values()]
        for types in (model.inputs, model.outputs)
    )
    for array in inputs:
        generator.standard_normal(out=array, dtype=np.float32)
    return partial(model, *inputs, out=result)


def measured(runs: Mapping[str, Any], flops: int, threads: int) -> dict[str, float]:
    """GFLOP/s of each of the runs, and of the peak."""
    seconds = interleaved_medians({**runs, PEAK: peak_run(threads)}, rounds=9)
    counts = dict.fromkeys(runs, flops) | {PEAK: threads * operations(native_target())}
    return {name: counts[name] / time / 1e9 for name, time in seconds.items()}


def cells(name: str, rates: Mapping[str, float]) -> list[str]:
    """One line of the table."""
    found = [name]
    for kind in KINDS:
        found += [f"{rates[kind]:.0f}", f"{rates[kind] / rates[PEAK]:.0%}"]
        if kind != FORWARD:
            found.append(f"{rates[kind] / rates[FORWARD]:.2f}")
    return found


def titles() -> Sequence[str]:
    """The head of the table."""
    found = ["GFLOP/s"]
    for kind in KINDS:
        found += [kind, "of peak"] + ([] if kind == FORWARD else ["/ forward"])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--match", default="", help="only operators whose name has this in it")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kernel-layout", default="HWIO", help="of the weights, as HWIO or OIHW")
    parser.add_argument("--log", help="a tuning log")
    options = parser.parse_args()
    print(table_line(titles()), table_line(["---"] * len(titles())), sep="\n", flush=True)
    for case in cases(options.kernel_layout):
        if options.match in case.name:
            models = {
                kind: rt.build(module, threads=options.threads, log=options.log)
                for kind, module in programs(case).items()
            }
            runs = {kind: run_of(model) for kind, model in models.items()}
            rates = measured(runs, case.flops, options.threads)
            print(table_line(cells(case.name, rates)), flush=True)


if __name__ == "__main__":
    main()
