"""Derivatives of operators as operators: types, text, meaning, kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import BuildError
from relay_tune.ir.dim import Symbol
from relay_tune.ir.expr import Expr, Function, Tuple, Var
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.gradient.derived import derived_adjoints, derived_tangent
from relay_tune.op_rules.gradient.rule import Differentiated
from relay_tune.op_rules.matching import operator_name
from relay_tune.op_rules.typed import call
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.tensor.derivative import adjoints
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Scalar, binary, select, unary
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.transform.fusion.fuse import Fuse

RANDOM = np.random.default_rng(7)


def variable(name: str, *shape: int, dtype: str = "float32") -> Var:
    type_ = TensorType(shape, dtype)
    return Var(name, type_, type=type_)


def normal(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype("float32")


def adjoint(value: Any, change: Expr, argument: int = 0) -> Expr:
    found = derived_adjoints(Differentiated(value, value, change))[argument]
    assert isinstance(found, Expr)
    return found


def module_of(params: list[Var], *results: Expr) -> rt.Module:
    return rt.infer_types(rt.Module({"main": Function(tuple(params), Tuple(results))}))


def test_second_derivatives_are_derivatives_of_derivatives() -> None:
    x, d = variable("x", 4, 5), variable("d", 4, 5)
    first = adjoint(call("tanh", x), d)
    second = derived_adjoints(Differentiated(first, first, d))[0]
    assert isinstance(second, tuple)
    module = module_of([x, d], first, *second)
    values, changes = normal(4, 5), normal(4, 5)
    found = rt.build(module)(values, changes)
    tanh = np.tanh(values)
    expected = [changes * (1 - tanh**2), -2 * tanh * (1 - tanh**2) * changes**2]
    np.testing.assert_allclose(found[0], expected[0], 1e-5, 1e-6)
    np.testing.assert_allclose(found[1], expected[1], 1e-5, 1e-6)


def test_text_and_json_say_all() -> None:
    x, d = variable("x", 4, 6), variable("d", 4, 3)
    first = adjoint(call("strided_slice", x, begin=(0, 1), end=(4, 6), strides=(1, 2)), d)
    second = derived_adjoints(Differentiated(first, first, x))[1]
    assert isinstance(second, tuple) and isinstance(second[0], Expr)
    module = module_of([x, d], first, second[0])
    text = module.astext()
    assert rt.infer_types(rt.parse(text)).astext() == text
    assert rt.from_json(rt.to_json(module)).astext() == text


def test_chains_of_elementwise_derivatives_are_one_kernel() -> None:
    x, d = variable("x", 4, 6), variable("d", 4, 6)
    inner = adjoint(call("tanh", x), d)
    outer = adjoint(call("exp", x), inner)
    change = derived_tangent(call("sigmoid", x), [outer])
    assert isinstance(change, Expr) and operator_name(change) == "derivative.tangent"
    module = module_of([x, d], change)
    assert Fuse()(module).astext().count("Primitive=1") == 1


def test_an_argument_given_twice_has_two_adjoints() -> None:
    x, d = variable("x", 3), variable("d", 3)
    square = call("multiply", x, x)
    module = module_of([x, d], adjoint(square, d, 0), adjoint(square, d, 1))
    values, changes = normal(3), normal(3)
    for found in rt.build(module)(values, changes):
        np.testing.assert_allclose(found, values * changes, 1e-6)


def test_integers_have_none_and_loop_nests_are_refused() -> None:
    x, d = variable("x", 3, 4), variable("d", 3, 4)
    rows = variable("rows", 2, dtype="int64")
    taken = call("take", x, rows, axis=0)
    found = derived_adjoints(Differentiated(taken, taken, variable("e", 2, 4)))
    assert found[1] is None
    with pytest.raises(BuildError, match="operator sort has no derivative that could be derived"):
        rt.build(module_of([x, d], adjoint(call("sort", x), d)))


def test_open_sizes_have_code_of_their_own() -> None:
    rows = Symbol("n")
    image_type = TensorType((1, 2, rows, 9), "float32")
    image, weight = Var("image", image_type, type=image_type), variable("weight", 3, 2, 3, 3)
    result = call("nn.conv2d", image, weight, strides=(2, 2), padding=(1, 1))
    d = Var("d", result.type, type=result.type)
    module = module_of([image, weight, d], adjoint(result, d, 0), adjoint(result, d, 1))
    native = rt.build(module)
    for size in (6, 11):
        given = [normal(1, 2, size, 9), normal(3, 2, 3, 3), normal(1, 3, (size + 1) // 2, 5)]
        for found, expected in zip(native(*given), interpret(module, *given), strict=True):
            np.testing.assert_allclose(found, np.asarray(expected), 1e-4, 1e-5)


def test_short_floats_are_summed_in_float32() -> None:
    x, scale = variable("x", 4096, dtype="float16"), variable("scale", 1, dtype="float16")
    d = variable("d", 4096, dtype="float16")
    module = module_of([x, scale, d], adjoint(call("multiply", x, scale), d, 1))
    ones = np.ones(4096, "float16")
    (found,) = rt.build(module)(ones, ones[:1], ones)
    assert found.dtype == np.float16 and found.item() == 4096  # 2048 if summed in float16


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_products_with_zeros(zeros: int) -> None:
    x, d = variable("x", 5), variable("d")
    module = module_of([x, d], adjoint(call("prod", x), d))
    values = np.array([2, 3, 5, 7, 11], "float32")
    values[:zeros] = 0
    (found,) = rt.build(module)(values, np.float32(1))
    expected = [np.prod(np.delete(values, n)) for n in range(5)]
    np.testing.assert_allclose(found, expected, 1e-6)


def test_the_first_of_equal_extremes_has_the_whole_adjoint() -> None:
    x, d = variable("x", 1, 1, 4, 4), variable("d", 1, 1, 2, 2)
    pool = call("nn.max_pool2d", x, pool_size=(2, 2), strides=(2, 2))
    module = module_of([x, d], adjoint(pool, d))
    ones = np.ones((1, 1, 4, 4), "float32")
    (found,) = rt.build(module)(ones, ones[:, :, :2, :2])
    expected = np.zeros((4, 4))
    expected[::2, ::2] = 1
    np.testing.assert_array_equal(found[0, 0], expected)


def test_a_branch_that_is_not_taken_has_no_part() -> None:
    """The slope of log at 0 is infinite; times zero it would be no number."""
    x, d = input_tensor("x", (3,), "float64"), input_tensor("d", (3,), "float64")

    def element(i: Scalar) -> Scalar:
        return select(binary("gt", x[i], 0.0), unary("log", x[i]), x[i])

    (found,) = evaluate(
        [adjoints([compute("y", (3,), element)], [d], x)],
        {x: np.array([0.0, 2.0, -1.0]), d: np.ones(3)},
    )
    np.testing.assert_array_equal(found, [1.0, 0.5, 1.0])
