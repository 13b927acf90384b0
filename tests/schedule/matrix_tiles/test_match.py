"""Which stages are products with constants that matrix registers can compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay_tune.ir.dim import Symbol
from relay_tune.op.lower import TensorProgram
from relay_tune.schedule.algorithms import MATRIX_PRODUCTS, algorithms
from relay_tune.schedule.matrix_tiles.match import Product, match_product
from relay_tune.schedule.matrix_tiles.stages import (
    matrix_program,
    multiplications,
    ways_to_gather,
)
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Scalar, binary, cast, reduce
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import convolution_program, feeds_of
from tests.schedule.products import batched, dense

SHAPE = (1, 6, 5, 32, 16)


def products_of(program: TensorProgram) -> list[Product]:
    """The stages that match."""
    known: dict[Any, np.ndarray] = dict(program.constants)
    found = (match_product(t, known) for t in tensors_in_order(program.outputs))
    return [product for product in found if product is not None]


def convolution(**options: Any) -> Callable[[], TensorProgram]:
    return lambda: convolution_program(**{"shape": SHAPE, **options})


def product(*sizes: int, **options: Any) -> Callable[[], TensorProgram]:
    return lambda: dense(*sizes, **options)


def grouped() -> TensorProgram:
    """Two groups of 32 channels."""
    x, g = input_tensor("x", (8, 64), "float32"), input_tensor("g", (32, 32), "float32")
    c = Axis("c", 32)

    def element(i: Scalar, o: Scalar) -> Scalar:
        return reduce("sum", [c], x[i, (o // 16) * 32 + c] * g[c, o])

    y = compute("groups", (8, 32), element)
    return TensorProgram((x,), (y,), ((g, np.ones(g.shape, np.float32)),))


def scaled_by_column() -> TensorProgram:
    """The data depend on the column."""
    x, w = input_tensor("x", (8, 32, 16), "float32"), input_tensor("w", (32, 16), "float32")
    k = Axis("k", 32)
    y = compute("y", (8, 16), lambda i, j: reduce("sum", [k], x[i, k, j] * w[k, j]))
    return TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float32)),))


def largest() -> TensorProgram:
    x, w = input_tensor("x", (8, 32), "float32"), input_tensor("w", (32, 16), "float32")
    k = Axis("k", 32)
    y = compute("y", (8, 16), lambda i, j: reduce("max", [k], x[i, k] * w[k, j]))
    return TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float32)),))


def differences() -> TensorProgram:
    x, w = input_tensor("x", (8, 32), "float32"), input_tensor("w", (32, 16), "float32")
    k = Axis("k", 32)
    y = compute("y", (8, 16), lambda i, j: reduce("sum", [k], x[i, k] - w[k, j]))
    return TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float32)),))


def transposed_twice() -> TensorProgram:
    """x.T @ w.T of two inputs."""
    x, w = input_tensor("x", (20, 33), "float32"), input_tensor("w", (32, 20), "float32")
    k = Axis("k", 20)
    y = compute("y", (33, 32), lambda i, j: reduce("sum", [k], x[k, i] * w[j, k]))
    return TensorProgram((x, w), (y,), ())


def halves() -> TensorProgram:
    """The sum is in float32, what it reads in float16."""
    x, w = input_tensor("x", (8, 32), "float16"), input_tensor("w", (32, 16), "float16")
    k = Axis("k", 32)

    def element(i: Scalar, j: Scalar) -> Scalar:
        return reduce("sum", [k], cast(x[i, k], "float32") * cast(w[k, j], "float32"))

    y = compute("y", (8, 16), element)
    return TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float16)),))


def open_rows() -> TensorProgram:
    n = symbolic_size(Symbol("n"), 8)
    x, w = input_tensor("x", (n, 32), "float32"), input_tensor("w", (32, 16), "float32")
    k = Axis("k", 32)
    y = compute("y", (n, 16), lambda i, j: reduce("sum", [k], x[i, k] * w[k, j]))
    return TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float32)),))


MATCHES: dict[str, Callable[[], TensorProgram]] = {
    "convolution": convolution(),
    "stride": convolution(stride=2),
    "dilation": convolution(dilation=2),
    "OIHW": convolution(layout="OIHW"),
    "OHWI": convolution(layout="OHWI"),
    "1x1": convolution(kernel=(1, 1)),
    "1x3": convolution(kernel=(1, 3)),
    "three channels": convolution(shape=(1, 6, 5, 3, 16)),
    "one channel in 4x4 taps": convolution(shape=(1, 6, 5, 1, 16), kernel=(4, 4)),
    "epilogue": convolution(epilogue="residual"),
    "dense": product(4, 16, 16),
    "weights by columns": product(9, 33, 48, transposed=True),
    "1000 columns": product(8, 64, 1000),
}

DIFFERS: dict[str, Callable[[], TensorProgram]] = {
    "8 columns": convolution(shape=(1, 6, 5, 32, 8)),
    "three rows": product(3, 64, 16),
    "fifteen steps": product(8, 15, 16),
    "float64": product(8, 64, 16, dtype="float64"),
    "float16": halves,
    "few rows of two tensors": product(31, 64, 16, constant=False),
    "few rows of variable taps": convolution(constant=False, shape=(1, 6, 5, 32, 16)),
    "groups": grouped,
    "data of the column": scaled_by_column,
    "the largest product": largest,
    "differences": differences,
    "open rows": open_rows,
}


@pytest.mark.parametrize("case", MATCHES)
def test_matches(case: str) -> None:
    program = MATCHES[case]()
    (found,) = products_of(program)
    assert found.data.tensor is program.inputs[0]
    assert found.weight.tensor is program.constants[0][0]
    assert found.rows == found.stage.axes[:-1]
    assert {name for name in algorithms(program) if name in MATRIX_PRODUCTS} >= {"bf16x3", "bf16x6"}


@pytest.mark.parametrize("case", DIFFERS)
def test_does_not_match(case: str) -> None:
    program = DIFFERS[case]()
    assert products_of(program) == []
    assert multiplications(program) == 0
    assert ways_to_gather(program) == ()
    assert matrix_program(program, 2, gathers=False) is None
    assert not set(algorithms(program)) & set(MATRIX_PRODUCTS)


WITHOUT_CONSTANTS: dict[str, Callable[[], TensorProgram]] = {
    "two tensors": product(32, 40, 48, constant=False),
    "weights by columns": product(33, 64, 16, constant=False, transposed=True),
    "both the other way round": transposed_twice,
    "a batch": lambda: batched(32, 20, 16),
    "a convolution": convolution(shape=(1, 6, 6, 5, 16), constant=False),
    "taps of other layout": convolution(constant=False, layout="OIHW", shape=(1, 4, 8, 33, 16)),
}


@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize(("parts", "bound"), [(2, 1e-5), (3, 1e-6)])
@pytest.mark.parametrize("case", WITHOUT_CONSTANTS)
def test_weights_may_be_known_at_run_time_only(
    case: str, parts: int, bound: float, gathers: bool
) -> None:
    program = WITHOUT_CONSTANTS[case]()
    (found,) = products_of(program)
    assert {found.data.tensor, found.weight.tensor} == set(program.inputs)
    changed = matrix_program(program, parts, gathers)
    assert changed is not None and not changed.constants
    feeds = feeds_of(program)
    (result,) = evaluate(changed.outputs, feeds)
    (expected,) = evaluate(program.outputs, feeds)
    assert np.abs(result - expected).max() <= bound * np.abs(expected).max()


def test_what_data_and_weights_share_is_no_row() -> None:
    (found,) = products_of(batched(32, 20, 16))
    assert [axis.extent for axis in found.shared] == [2]
    assert (
        products_of(batched(31, 20, 16)) == []
    )  # of each batch: too few uses of the weights' parts
    assert products_of(batched(32, 20, 16, constant=True)) == []


def test_steps_are_ordered_as_the_data_lie() -> None:
    (found,) = products_of(convolution_program(SHAPE, layout="OIHW"))
    assert [axis.name for axis in found.steps] == ["kh", "kw", "c"]


@pytest.mark.parametrize("layout", ["HWIO", "OIHW", "OHWI"])
def test_weights_have_one_layout(layout: str) -> None:
    program = convolution_program(SHAPE, layout=layout, kernel=(3, 2))
    ((tensor, taps),) = program.constants
    (found,) = products_of(program)
    weights = found.weights({tensor: taps})
    order = [layout.index(letter) for letter in "HWIO"]
    np.testing.assert_array_equal(weights, taps.transpose(order))


def test_a_constant_times_the_data_matches_as_well() -> None:
    x, w = input_tensor("x", (8, 32), "float32"), input_tensor("w", (32, 16), "float32")
    k = Axis("k", 32)
    y = compute("y", (8, 16), lambda i, j: reduce("sum", [k], w[k, j] * x[i, k]))
    program = TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float32)),))
    (found,) = products_of(program)
    assert (found.data.tensor, found.weight.tensor) == (x, w)


def test_multiplications_are_counted() -> None:
    assert multiplications(dense(8, 40, 32)) == 8 * 40 * 32
    assert multiplications(convolution_program(SHAPE, kernel=(3, 2))) == 6 * 5 * 16 * 3 * 2 * 32


def test_a_program_may_hold_several() -> None:
    x = input_tensor("x", (8, 32), "float32")
    first, second = (input_tensor(name, (32, 32), "float32") for name in ("v", "w"))
    k, m = Axis("k", 32), Axis("m", 32)
    y = compute("y", (8, 32), lambda i, j: reduce("sum", [k], x[i, k] * first[k, j]))
    y = compute("relu", y.shape, lambda *at, y=y: binary("max", y[at], 0.0))
    z = compute("z", (8, 32), lambda i, j: reduce("sum", [m], y[i, m] * second[m, j]))
    ones = np.ones((32, 32), np.float32)
    program = TensorProgram((x,), (z,), ((first, ones), (second, ones)))
    assert [found.stage.name for found in products_of(program)] == ["y", "z"]
    changed = matrix_program(program, 3, gathers=False)
    assert changed is not None
    assert [tensor.name for tensor, _ in changed.constants] == ["v_pairs", "w_pairs"]


@pytest.mark.parametrize(
    ("program", "ways"),
    [
        (dense(8, 64, 16), (False,)),
        (convolution_program(SHAPE), (False, True)),
        (convolution_program(SHAPE, kernel=(1, 3)), (False, True)),
        (convolution_program(SHAPE, kernel=(1, 1)), (False,)),
        (convolution_program(SHAPE, kernel=(1, 1), stride=2), (False, True)),
        (batched(32, 20, 16), (False,)),
    ],
)
def test_gathering_is_offered_where_it_differs(
    program: TensorProgram, ways: tuple[bool, ...]
) -> None:
    assert ways_to_gather(program) == ways
