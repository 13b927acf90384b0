"""Nests and their spaces."""

from __future__ import annotations

import numpy as np

from relay_tune.machine.machine import Machine
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.space.space import NestSpace, nest_space
from relay_tune.tensor.expression import Axis, Tensor, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Computed, Input, compute, input_tensor
from tests.schedule.machines import SERVER, core
from tests.schedule.running import program_of

AVX512, AVX2, NEON = core(64, 32), core(32, 16), core(16, 32)
MACHINES = {"avx512": AVX512, "avx2": AVX2, "neon": NEON}


def only_nest(output: Tensor) -> Nest:
    (nest,) = plan_program(program_of([output], {})).nests
    return nest


def weighted_product(rows: int, depth: int, columns: int) -> NestSpace:
    """The space of x w^T with constant weights, on a server."""
    x = input_tensor("x", (rows, depth), "float32")
    w = input_tensor("w", (columns, depth), "float32")
    k = Axis("k", depth)
    y = compute("y", (rows, columns), lambda i, j: reduce("sum", [k], x[i, k] * w[j, k]))
    return weighted_space(x, w, y)


def weighted_space(x: Input, w: Input, y: Computed) -> NestSpace:
    """The space of the last nest of a program with an input and constant weights, on a server."""
    weights = np.broadcast_to(np.float32(0), w.shape)
    return plan_program(TensorProgram((x,), (y,), ((w, weights),))).spaces(SERVER, 1)[-1]


def depthwise(channels: int, size: int, stride: int = 1) -> Nest:
    """The nest of a 3x3 depthwise convolution of channels-last data, `size` the output's."""
    rows = (size - 1) * stride + 3
    x = input_tensor("x", (rows, rows, channels), "float32")
    w = input_tensor("w", (3, 3, channels), "float32")
    kh, kw = Axis("kh", 3), Axis("kw", 3)
    taps = [kh, kw]
    shape = (size, size, channels)
    return only_nest(
        compute(
            "d",
            shape,
            lambda i, j, c: reduce(
                "sum", taps, x[i * stride + kh, j * stride + kw, c] * w[kh, kw, c]
            ),
        )
    )


def space_of(nest: Nest, machine: Machine = AVX512, threads: int = 4) -> NestSpace:
    return nest_space(nest, frozenset(), machine, threads)
