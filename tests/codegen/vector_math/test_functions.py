import ctypes
import math
from collections.abc import Callable
from functools import cache

import ml_dtypes
import numpy as np
import pytest

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import Target, native_target, parse_target
from relay_tune.codegen.vector_math.functions import FLOAT32_FUNCTIONS
from relay_tune.tensor.expression import Axis, Scalar, binary, literal, unary
from relay_tune.tensor.loops import Buffer, BufferScope, Kernel, Loop, LoopKind, Statement, Store

COUNT = 1 << 15
TARGETS = {
    "native": native_target(),
    "haswell": parse_target("x86_64-linux-gnu:haswell"),
    "baseline": parse_target("x86_64-linux-gnu"),
    "neon": parse_target("aarch64-linux-gnu"),
}
NATIVE_FEATURES = native_target().features.split(",")
needs_avx2 = pytest.mark.skipif("+avx2" not in NATIVE_FEATURES, reason="no AVX2 here")
needs_x86 = pytest.mark.skipif("+sse2" not in NATIVE_FEATURES, reason="not an x86 machine")
SHAPES = [
    ("native", 16),
    ("native", 0),
    pytest.param("haswell", 8, marks=needs_avx2),
    pytest.param("baseline", 4, marks=needs_x86),
]
NUMPY_TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
TINY = 1.2e-38
"""Results below the smallest normal float32 may be flushed to zero."""

FUNCTIONS = sorted(FLOAT32_FUNCTIONS)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, math.inf, -math.inf, math.nan, 1e-40, -1e-40]

REFERENCES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    **{
        name: getattr(np, name)
        for name in "exp exp2 log tanh sin cos tan sinh cosh log2 log1p expm1".split()
    },
    **{f"a{name}": getattr(np, f"arc{name}") for name in "sin cos tan sinh cosh tanh".split()},
}


def scalar(value: int) -> Scalar:
    return literal(value, "int64")


def argument(name: str, dtype: str) -> Buffer:
    return Buffer(name=name, shape=(COUNT,), dtype=dtype, scope=BufferScope.ARGUMENT)


def elementwise(
    name: str, dtype: str, lanes: int, operands: int, value: Callable[..., Scalar]
) -> Kernel:
    """out[i] = value(in[i], ...) over COUNT elements, `lanes` at once."""
    inputs = [argument(f"x{n}", dtype) for n in range(operands)]
    out = argument("out", dtype)
    step = lanes or 1
    outer, lane = Axis("i", COUNT // step), Axis("lane", step)
    index = outer * step + lane if lanes else outer
    body: Statement = Store(out, (index,), value(*(tensor[index] for tensor in inputs)))
    if lanes:
        body = Loop(lane, scalar(0), scalar(step), body, LoopKind.VECTOR)
    buffers = (*inputs, out)
    return Kernel(name, buffers, buffers, Loop(outer, scalar(0), scalar(outer.extent), body))


@cache
def library(target: str, lanes: int, dtype: str) -> LoadedCode:
    """All functions compiled together."""
    kernels = [
        elementwise(f"f_{name}", dtype, lanes, 1, lambda x, name=name: unary(name, x))
        for name in FUNCTIONS
    ]
    kernels.append(
        elementwise("f_pow", dtype, lanes, 2, lambda x, y: binary("pow", x, y)),
    )
    machine: Target = TARGETS[target]
    image = compile_text(module_text(kernels, machine), machine)
    return LoadedCode([image], [kernel.name for kernel in kernels])


def run(target: str, lanes: int, dtype: str, name: str, *inputs: np.ndarray) -> np.ndarray:
    """The function of up to COUNT elements."""
    code = library(target, lanes, dtype)
    padded = [np.resize(x, COUNT) for x in inputs]
    out = np.zeros(COUNT, padded[0].dtype)
    pointers = [array.ctypes.data for array in (*padded, out)]
    types = [ctypes.c_void_p] * len(pointers)
    code.function(f"f_{name}", *types, ctypes.c_int64, ctypes.c_int64)(*pointers, 0, 1)
    return out[: len(inputs[0])]


def ulp_errors(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Distances in units of the last place of the result type; equal specials have none."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(got.dtype)
        errors = np.abs(got.astype(np.float64) - expected) / np.abs(np.spacing(rounded))
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        flushed = (np.abs(expected) < TINY) & (np.abs(got) < TINY)
    return np.where(same | flushed, 0.0, np.where(np.isnan(errors), np.inf, errors))


def samples(name: str, dtype: type) -> np.ndarray:
    """Special values, all magnitudes, and densely where the function does something."""
    generator = np.random.default_rng(7)
    bits = generator.integers(0, 1 << 32, 12000, dtype=np.uint32)
    spread = np.nan_to_num(bits.view(np.float32))
    limit = {
        "exp": 105.0,
        "exp2": 150.0,
        "sinh": 90.0,
        "cosh": 90.0,
        "expm1": 90.0,
        "sigmoid": 105.0,
    }.get(name)
    wide = generator.uniform(-(limit or 10.0), limit or 10.0, 12000)
    near = generator.uniform(-1.5, 1.5, 7000)
    turns = np.arange(1, 1000) * (np.pi / 2)
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(SPECIAL), spread, wide, near, turns]).astype(dtype)


def reference(name: str, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return REFERENCES[name](x.astype(np.float64))


@pytest.mark.parametrize(("target", "lanes"), SHAPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_within_three_ulp(name: str, target: str, lanes: int) -> None:
    x = samples(name, np.float32)
    errors = ulp_errors(run(target, lanes, "float32", name, x), reference(name, x))
    worst = int(np.argmax(errors))
    assert errors[worst] <= 3, f"{name}({x[worst]!r}) is {errors[worst]} ulp off"


@pytest.mark.parametrize(("target", "lanes"), [("native", 8), ("native", 0)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float64_within_four_ulp(name: str, target: str, lanes: int) -> None:
    x = samples(name, np.float64)
    if name == "acosh":
        x = np.abs(x) + 1
    errors = ulp_errors(run(target, lanes, "float64", name, x), reference(name, x))
    worst = int(np.argmax(errors))
    assert errors[worst] <= 4, f"{name}({x[worst]!r}) is {errors[worst]} ulp off"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_16_bit_floats_are_rounded_once(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = samples(name, np.float32)[:13000].astype(NUMPY_TYPES[dtype])
    got = run("native", 16, dtype, name, x).astype(np.float64)
    expected = reference(name, x)
    finite = np.isfinite(expected) & (np.abs(expected) < 6e4) & (np.abs(expected) > TINY)
    tolerance = 2.0**-8 if dtype == "bfloat16" else 2.0**-10
    np.testing.assert_allclose(got[finite], expected[finite], rtol=tolerance, atol=6e-8)
    assert np.array_equal(np.isnan(got), np.isnan(expected))


@pytest.mark.parametrize(("target", "lanes"), SHAPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sign_of_zero(name: str, target: str, lanes: int) -> None:
    zeros = np.array([0.0, -0.0], np.float32)
    got = run(target, lanes, "float32", name, zeros)
    expected = reference(name, zeros)
    is_zero = expected == 0
    assert np.array_equal(np.signbit(got)[is_zero], np.signbit(expected)[is_zero])


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "tanh", "erf", "sigmoid", "log2"])
def test_common_float32_functions_call_nothing(name: str) -> None:
    kernel = elementwise("f", "float32", 16, 1, lambda x: unary(name, x))
    code = compile_text(module_text([kernel], TARGETS["haswell"]), TARGETS["haswell"])
    for called in (b"expf", b"exp2f", b"logf", b"log2f", b"tanhf", b"erff", b"fmaf"):
        assert called not in code


def test_compiles_for_arm() -> None:
    kernels = [
        elementwise(f"f_{name}", dtype, lanes, 1, lambda x, name=name: unary(name, x))
        for name in FUNCTIONS
        for dtype, lanes in (("float32", 4), ("float64", 2))
    ]
    for kernel in kernels:
        assert compile_text(module_text([kernel], TARGETS["neon"]), TARGETS["neon"])


def test_exact_results() -> None:
    x = np.array([0.0, -0.0, 100.0, -100.0], np.float32)
    assert run("native", 16, "float32", "exp", x).tolist() == [1, 1, math.inf, 0]
    assert run("native", 16, "float32", "exp2", x[:2]).tolist() == [1, 1]
    assert run("native", 16, "float32", "tanh", x).tolist() == [0, 0, 1, -1]
    assert run("native", 16, "float32", "erf", x).tolist() == [0, 0, 1, -1]
    powers = np.exp2(np.arange(-149, 128)).astype(np.float32)
    assert run("native", 16, "float32", "log2", powers).tolist() == list(range(-149, 128))


def power_samples() -> tuple[np.ndarray, np.ndarray]:
    values = [*SPECIAL, 3.0, -3.0, 2.5, -2.5, 0.25, -0.5, 1e30, -1e30, 1e-30, 16777217.0]
    generator = np.random.default_rng(11)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    bases = generator.lognormal(0, 3, 20000) * generator.choice([1, -1], 20000)
    exponents = np.where(
        generator.random(20000) < 0.3,
        generator.integers(-20, 20, 20000),
        generator.normal(0, 8, 20000),
    )
    return (
        np.concatenate([x, bases]).astype(np.float32),
        np.concatenate([y, exponents]).astype(np.float32),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("target", "lanes"), SHAPES)
def test_power(target: str, lanes: int, dtype: str) -> None:
    x, y = (values.astype(dtype) for values in power_samples())
    got = run(target, lanes, dtype, "pow", x, y)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
    errors = ulp_errors(got, expected)
    worst = int(np.argmax(errors))
    assert errors[worst] <= 2, f"{x[worst]!r} ** {y[worst]!r} gave {got[worst]!r}"
    is_zero = (expected == 0) & (got == 0)
    assert np.array_equal(np.signbit(got)[is_zero], np.signbit(expected)[is_zero])
