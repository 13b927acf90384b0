"""Kernels with small weights are marked, and multiply them exactly as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.building.build import build
from relay_tune.building.program_form import fused_module, kernel_functions
from relay_tune.codegen.target import parse_target
from relay_tune.ir.expr import Function, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.op.bounded_constants import bounded_dimensions
from relay_tune.op.nn.convolution import conv2d
from relay_tune.op.nn.matmul import dense
from relay_tune.schedule.plan import plan_program
from relay_tune.transform.bound_constants import BoundConstants
from relay_tune.transform.fusion.fuse import Fuse
from relay_tune.transform.kernel_programs import kernel_program

Array = np.ndarray[Any, Any]

HASWELL = "x86_64-linux-gnu:haswell"


def small(shape: tuple[int, ...], seed: int = 0) -> Array:
    """Weights of 7 bits, most of them at the ends."""
    return np.random.default_rng(seed).choice(np.array([-64, 64, 63, 0], "int8"), shape)


def extreme(shape: tuple[int, ...], dtype: str) -> Array:
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, info.max, info.max - 1], dtype)
    return np.random.default_rng(1).choice(ends, shape)


def product(weights: Array, rows: int = 37, dtype: str = "uint8") -> Module:
    x = Var("x", TensorType((rows, weights.shape[1]), dtype))
    return Module.from_function(Function((x,), dense(x, constant(weights), out_dtype="int32")))


def convolution(
    weights: Array, size: int = 11, dtype: str = "uint8", **attributes: object
) -> Module:
    channels = weights.shape[1] * int(str(attributes.get("groups", 1)))
    x = Var("x", TensorType((2, channels, size, size), dtype))
    body = conv2d(x, constant(weights), out_dtype="int32", **attributes)
    return Module.from_function(Function((x,), body))


CASES: Mapping[str, Module] = {
    "product": product(small((48, 64))),
    "odd sizes": product(small((19, 23))),
    "signed data": product(small((33, 70)), dtype="int8"),
    "one row": product(small((40, 128)), rows=1),
    "long": product(small((16, 3000)), rows=9),
    "1x1": convolution(small((40, 24, 1, 1))),
    "3x3": convolution(small((24, 16, 3, 3)), padding=(1, 1)),
    "strides": convolution(small((24, 12, 3, 3)), strides=(2, 2), dilation=(2, 2)),
    "groups": convolution(small((24, 8, 3, 3)), groups=3),
    "few channels": convolution(small((24, 3, 7, 7)), size=20, strides=(2, 2)),
    "signed pixels": convolution(small((24, 16, 3, 3)), dtype="int8", padding=(1, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_products_are_exact_at_the_ends_of_ranges(name: str) -> None:
    module = CASES[name]
    (parameter,) = rt.infer_types(module).main.params
    assert isinstance(parameter.type, TensorType)
    data = extreme(tuple(map(int, parameter.type.shape)), parameter.type.dtype)
    found = build(module, target=HASWELL, threads=1)(data)
    np.testing.assert_array_equal(found, rt.interpret(module, data))


@pytest.mark.parametrize("name", ["product", "1x1", "strides"])
def test_default_schedules_multiply_them_as_bytes(name: str) -> None:
    target = parse_target(HASWELL)
    kernels = kernel_functions(fused_module(rt.infer_types(CASES[name]), target=target))
    plans = [plan_program(kernel_program(kernel)) for kernel in kernels]
    chosen = [str(plan.default_schedule(target.machine, 1).algorithm) for plan in plans]
    assert "dot_u8s8_bounded" in chosen


def test_data_at_the_end_do_not_saturate() -> None:
    """Sums of two products reach 128 * 255."""
    weights = np.array([[64, 64] * 20, [127, 1] * 20, [-64, -64] * 20, [-128, 0] * 20], "int8")
    model = build(product(weights, rows=3), target=HASWELL, threads=1)
    found = model(np.full((3, 40), 255, "uint8"))
    np.testing.assert_array_equal(found, np.tile(255 * weights.astype(int).sum(1), (3, 1)))


@pytest.mark.parametrize(
    ("target", "most", "is_marked"),
    [
        (HASWELL, 64, True),
        (HASWELL, 127, False),
        ("x86_64-linux-gnu:skylake-avx512", 64, True),
        ("x86_64-linux-gnu:cascadelake", 64, False),
        ("x86_64-linux-gnu:alderlake", 64, False),
        ("aarch64-linux-gnu:neoverse-n1", 64, False),
    ],
)
def test_kernels_are_marked_where_that_tells_something(
    target: str, most: int, is_marked: bool
) -> None:
    module = rt.infer_types(product(np.full((48, 64), most, "int8")))
    fused = fused_module(module, target=parse_target(target))
    (kernel,) = kernel_functions(fused)
    assert bool(bounded_dimensions(kernel)) is is_marked


def test_the_module_after_the_pass() -> None:
    fused = Fuse()(rt.infer_types(product(small((4, 8)), rows=2)))
    machine = parse_target(HASWELL).machine
    text = BoundConstants(machine)(fused).astext()
    assert "Bounded=((0, 0), (0, 1))" in text
    assert rt.parse(text).astext() == text
    assert BoundConstants(parse_target("x86_64-linux-gnu:znver4").machine)(fused) is fused
