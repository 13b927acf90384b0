"""Products as sums of bfloat16 products: what they compute, and how exactly."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.building.primitives import primitives_of
from relay_tune.building.program_form import fused_module, kernel_functions
from relay_tune.codegen.target import native_target
from relay_tune.ir.parser.parse import parse
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.matrix_products.float_parts import LARGEST
from relay_tune.schedule.rewrites.matrix_products.form import split_floats_form
from relay_tune.schedule.rewrites.matrix_products.stages import TERMS, matrix_program
from relay_tune.tensor.deferred_array import array_of
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Scalar, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.typing.infer import infer_types
from tests.schedule.convolutions import convolution_program, feeds_of
from tests.schedule.offered import MATRIX_PRODUCTS
from tests.schedule.products import batched, dense

BOUNDS = {1: 1e-2, 2: 1e-5, 3: 1e-6}
"""Differences as a share of the largest result, by the parts of each factor."""


def volume() -> TensorProgram:
    """A convolution of a volume with 2x3x3 taps."""
    x, g = (
        input_tensor("x", (1, 4, 5, 6, 8), "float32"),
        input_tensor("g", (2, 3, 3, 8, 16), "float32"),
    )
    kd, kh, kw, c = Axis("kd", 2), Axis("kh", 3), Axis("kw", 3), Axis("c", 8)

    def element(n: Scalar, d: Scalar, h: Scalar, w: Scalar, o: Scalar) -> Scalar:
        value = x[n, d + kd, h + kh, w + kw, c] * g[kd, kh, kw, c, o]
        return reduce("sum", [kd, kh, kw, c], value)

    y = compute("y", (1, 3, 3, 4, 16), element)
    taps = np.random.default_rng(0).standard_normal(g.shape).astype("float32")
    return TensorProgram((x,), (y,), ((g, taps),))


PROGRAMS: dict[str, TensorProgram] = {
    "convolution": convolution_program((2, 4, 5, 32, 16)),
    "stride": convolution_program((1, 4, 5, 33, 16), stride=2),
    "dilation": convolution_program((1, 4, 5, 20, 16), dilation=3),
    "OIHW": convolution_program((1, 4, 5, 9, 32), layout="OIHW", kernel=(3, 2)),
    "three channels": convolution_program((1, 6, 5, 3, 16), stride=2),
    "1x1": convolution_program((1, 6, 5, 40, 16), kernel=(1, 1)),
    "1x1, stride": convolution_program((1, 6, 5, 40, 16), kernel=(1, 1), stride=2),
    "epilogue": convolution_program((1, 6, 5, 16, 16), epilogue="sigmoid times itself"),
    "dense": dense(7, 100, 48),
    "weights by columns": dense(7, 100, 48, transposed=True),
    "volume": volume(),
    "1000 columns": dense(5, 70, 1000),
    "24 channels": convolution_program((1, 6, 5, 16, 24), epilogue="residual"),
    "two inputs": dense(40, 50, 32, constant=False),
    "two inputs, 24 columns": dense(40, 32, 24, constant=False, transposed=True),
    "batch": batched(33, 40, 16),
    "batch of columns": batched(32, 64, 48, transposed=True),
}


def difference(program: TensorProgram, changed: TensorProgram, feeds: dict[Any, Any]) -> float:
    """How far the results are from those in float64, as a share of the largest."""
    (found,) = evaluate(changed.outputs, {**feeds, **changed.constant_arrays()})
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize("parts", TERMS)
@pytest.mark.parametrize("case", PROGRAMS)
def test_the_sums_mean_the_product(case: str, parts: int, gathers: bool, beside: bool) -> None:
    program = PROGRAMS[case]
    changed = matrix_program(program, split_floats_form(parts), gathers, beside=beside)
    assert changed is not None
    assert difference(program, changed, feeds_of(program)) <= BOUNDS[parts]


@given(
    shape=st.tuples(*[st.integers(1, 2), st.integers(2, 5), st.integers(2, 5)]),
    channels=st.sampled_from([1, 3, 5, 16, 31, 32, 33]),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 4)),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 2),
    layout=st.permutations("HWIO").map("".join),
    parts=st.sampled_from(list(TERMS)),
    gathers=st.booleans(),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_convolutions_of_any_shape(
    shape: tuple[int, int, int],
    channels: int,
    kernel: tuple[int, int],
    stride: int,
    dilation: int,
    layout: str,
    parts: int,
    gathers: bool,
) -> None:
    program = convolution_program(
        (*shape, channels, 16), kernel=kernel, stride=stride, dilation=dilation, layout=layout
    )
    changed = matrix_program(program, split_floats_form(parts), gathers)
    if channels * kernel[0] * kernel[1] < 16:
        assert changed is None
        return
    assert changed is not None
    assert difference(program, changed, feeds_of(program)) <= BOUNDS[parts]


def test_only_the_parts_of_the_weights_are_kept() -> None:
    program = PROGRAMS["convolution"]
    for algorithm, (parts, _) in MATRIX_PRODUCTS.items():
        ((tensor, data),) = algorithm.prepared(program).constants
        assert tensor.dtype == "bfloat16"
        assert data.size == 3 * 3 * 32 * 16 * parts


def test_constants_correspond_whatever_their_values() -> None:
    program = PROGRAMS["three channels"]
    ((tensor, data),) = program.constants
    zeros = TensorProgram(program.inputs, program.outputs, ((tensor, np.zeros_like(data)),))
    for algorithm in MATRIX_PRODUCTS:
        first, second = (algorithm.prepared(p).constants for p in (program, zeros))
        assert [d.shape for _, d in first] == [d.shape for _, d in second]
        assert not array_of(second[0][1]).any()


@pytest.mark.parametrize("parts", TERMS)
def test_from_one_product_to_the_next_one_operand_changes(parts: int) -> None:
    terms = TERMS[parts]
    assert len(set(terms)) == len(terms)
    for before, after in zip(terms, terms[1:], strict=False):
        assert (before[0] == after[0]) != (before[1] == after[1])
    assert set(terms) == {(a, b) for a in range(parts) for b in range(parts) if a + b < parts}


def test_six_products_are_about_as_exact_as_float32() -> None:
    program = dense(16, 2000, 16)
    rng = np.random.default_rng(3)
    x = rng.standard_normal((16, 2000)).astype("float32")
    ((_, w),) = program.constants
    expected = np.maximum(x.astype(np.float64) @ w.astype(np.float64) + 0.5, 0)
    errors = {}
    for parts in TERMS:
        changed = matrix_program(program, split_floats_form(parts), gathers=False)
        assert changed is not None
        feeds = {program.inputs[0]: x, **changed.constant_arrays()}
        (found,) = evaluate(changed.outputs, feeds)
        errors[parts] = np.abs(found - expected).max() / np.abs(expected).max()
    assert errors[3] <= 4e-7
    assert errors[3] < errors[2] / 2


ODD = [np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e30, 1e4]
"""In data, in weights, and in both where they meet."""


Arrays = dict[Any, Any]


@cache
def odd_products(case: str) -> tuple[tuple[float, Arrays, Any], ...]:
    """Odd numbers, the arrays of a program that have them, and what direct sums give."""
    program = PROGRAMS[case]
    rng = np.random.default_rng(11)
    feeds, weights = feeds_of(program), program.constant_arrays()
    found = []
    for arrays in ([*feeds], [*weights], [*feeds, *weights]):
        for odd in ODD:
            known = {tensor: array.copy() for tensor, array in {**feeds, **weights}.items()}
            for tensor in arrays:
                known[tensor].reshape(-1)[rng.integers(known[tensor].size)] = odd
            (expected,) = evaluate(program.outputs, known)
            found.append((odd, known, expected))
    return tuple(found)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value)")
@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("case", sorted(PROGRAMS))
def test_what_is_not_finite_comes_out_where_direct_sums_put_it(
    case: str, parts: int, gathers: bool
) -> None:
    program = PROGRAMS[case]
    for odd, known, expected in odd_products(case):
        constants = tuple((tensor, known[tensor]) for tensor in program.constant_arrays())
        changed = matrix_program(
            replace(program, constants=constants), split_floats_form(parts), gathers
        )
        assert changed is not None
        (found,) = evaluate(changed.outputs, {**known, **changed.constant_arrays()})
        share = BOUNDS[parts] * (2 if np.abs(odd) > LARGEST else 1)
        bound = share * np.abs(expected[np.isfinite(expected)]).max()
        np.testing.assert_allclose(found, expected, 0, bound)


def phases() -> TensorProgram:
    """The data gradient of a 3x3 convolution with step 2: phases of one, two and four taps."""
    text = """
def @main(%x: Tensor[(1, 6, 7, 32), float32], %w: Tensor[(3, 3, 16, 32), float32]) {
  nn.conv2d_transpose(%x, %w, strides=(2, 2), padding=(1, 1, 1, 1), output_padding=(1, 1),
    data_layout="NHWC", kernel_layout="HWOI")
}
"""
    functions = kernel_functions(fused_module(infer_types(parse(text)), target=native_target()))
    (primitive,) = primitives_of(functions).values()
    return primitive.program


@pytest.mark.parametrize("parts", [2, 3])
def test_phases_read_parts_of_the_data_that_are_stored_once(parts: int) -> None:
    program = phases()
    changed = matrix_program(program, split_floats_form(parts), False)
    assert changed is not None
    stored = [tensor for tensor in tensors_in_order(changed.outputs) if tensor.name == "parts"]
    assert len(stored) == 1
    assert difference(program, changed, feeds_of(program)) <= BOUNDS[parts]


def test_the_parts_of_a_value_are_computed_by_one_nest() -> None:
    changed = matrix_program(PROGRAMS["convolution"], split_floats_form(2), False)
    assert changed is not None
    nests = [nest for nest in plan_program(changed).nests if "parts" in nest.name]
    assert [nest.axes[0].extent for nest in nests] == [2]
