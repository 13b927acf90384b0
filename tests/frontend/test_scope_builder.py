from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.errors import InputError
from relay_tune.ir.structural import first_difference
from relay_tune.runtime.interpreter.interpret import interpret

X = rt.Var("x", rt.TensorType((), "int32"))


def test_lets_and_branches() -> None:
    builder = rt.ScopeBuilder()
    doubled = builder.let("doubled", X + X)
    with builder.if_scope(doubled < 10):
        more = builder.let("more", doubled * 3)
        builder.ret(more)
    with builder.else_scope():
        builder.ret(-doubled)
    module = rt.Module.from_function(rt.Function((X,), builder.get()))
    text = """
        def @main(%x: int32) {
          let %doubled = %x + %x;
          if (%doubled < 10) { let %more = %doubled * 3; %more } else { -%doubled }
        }"""
    assert first_difference(module, rt.parse(text)) is None
    assert [interpret(module, x).item() for x in (2, 9)] == [12, -18]


def test_typed_and_given_variables() -> None:
    builder = rt.ScopeBuilder()
    given = rt.Var("given")
    assert builder.let(given, rt.constant(1)) is given
    typed = builder.let("typed", rt.constant(1), rt.TensorType((), "int32"))
    assert typed.annotation == rt.TensorType((), "int32")
    builder.ret(typed)
    assert isinstance(builder.get(), rt.Let)


def test_misuse_is_refused() -> None:
    builder = rt.ScopeBuilder()
    with pytest.raises(InputError, match="no value"):
        builder.get()
    with pytest.raises(InputError, match="follows an if_scope"), builder.else_scope():
        pass
    with builder.if_scope(rt.constant(True)):
        builder.ret(X)
        with pytest.raises(InputError, match="has its value already"):
            builder.let("y", X)
        with pytest.raises(InputError, match="still open"):
            builder.get()
    with pytest.raises(InputError, match="followed by its else_scope"):
        builder.ret(X)
    with pytest.raises(InputError, match="has no else"):
        builder.get()


def test_operators_of_python() -> None:
    y = rt.Var("y", rt.TensorType((2,), "float32"))
    parts = (
        y + 1.0, 1.0 + y, y - 2.0, 2.0 - y, y * 3.0, 3.0 * y, y / 4.0, 4.0 / y, -y,
        y < 2.0, y <= 2.0, y > 2.0, y >= 2.0, np.ones(2, "float32") + y, y.astype("int32"),
    )  # fmt: skip
    value = np.array([1, 2], "float32")
    expected = (
        value + 1, 1 + value, value - 2, 2 - value, value * 3, 3 * value, value / 4, 4 / value,
        -value, value < 2, value <= 2, value > 2, value >= 2, value + 1, value.astype("int32"),
    )  # fmt: skip
    found = interpret(rt.Module.from_function(rt.Function((y,), rt.Tuple(parts))), value)
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(left, right)


def test_calls_and_equality_of_expressions() -> None:
    function = rt.Function((X,), X + 1)
    assert isinstance(function(X), rt.Call)
    assert (X == X) is True
    assert (rt.Var("x") == X) is False
