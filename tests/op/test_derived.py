"""Derivatives of operators as operators: types, text, meaning, kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import BuildError
from relay_tune.ir.expr import Expr, Function, Tuple, Var
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.gradient.derived import derived_adjoints, derived_tangent
from relay_tune.op_rules.gradient.rule import Differentiated
from relay_tune.op_rules.matching import operator_name
from relay_tune.op_rules.typed import call
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
