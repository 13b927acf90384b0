"""rt.grad and its relatives in functions under @relay."""

import numpy as np
import pytest

import relay_tune as rt

VECTOR, NUMBER = "Tensor[(3), float32]", "float32"
X = np.array([0.3, -1.2, 2.0], np.float32)
V = np.array([1.0, 2.0, -1.0], np.float32)


@rt.relay
def cubes(x: VECTOR, scale: NUMBER):
    return np.sum(x * x * x) * scale


@rt.relay
def squares(x: VECTOR):
    return x * x


def _both(program: rt.Module, *inputs: object) -> list[np.ndarray]:
    """What a program gives, interpreted and in native code."""
    return [np.asarray(rt.interpret(program, *inputs)), np.asarray(rt.build(program)(*inputs))]


def test_gradients_are_those_of_programs() -> None:
    @rt.relay
    def slope(x: VECTOR):
        by_x, by_scale = rt.grad(cubes)(x, 2.0)
        return by_x + by_scale

    for found in _both(slope.module, X):
        np.testing.assert_allclose(found, 6 * X**2 + np.sum(X**3), rtol=1e-5)


def test_parameters_are_chosen_by_name_and_place() -> None:
    @rt.relay
    def slope(x: VECTOR):
        (by_scale,) = rt.grad(cubes, wrt="scale")(x, 2.0)
        value, (by_x,) = rt.value_and_grad(cubes, wrt=[0])(x, 2.0)
        return by_x * by_scale + value

    for found in _both(slope.module, X):
        total = np.sum(X**3)
        np.testing.assert_allclose(found, 6 * X**2 * total + 2 * total, rtol=1e-5)


def test_inner_functions_have_gradients_of_what_they_read() -> None:
    """A residual of a field with its slope, and the gradient of that, as of a physical network."""

    @rt.relay
    def residual(x: VECTOR, w: VECTOR):
        def field(a):
            return np.sum(np.tanh(a * w))

        slope = rt.grad(field)
        (first,) = slope(x)
        return np.sum((first - x) ** 2)

    w = np.array([0.5, 1.5, -0.7], np.float32)
    value, (by_w,) = rt.interpret(rt.value_and_grad(residual, wrt=["w"]), X, w)

    def expected(w: np.ndarray) -> float:
        return float(np.sum((w / np.cosh(X * w) ** 2 - X) ** 2))

    wide = w.astype(np.float64)
    assert float(value) == pytest.approx(expected(wide), rel=1e-5)
    steps = np.eye(3) * 1e-6
    quotients = [(expected(wide + step) - expected(wide - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(by_w, quotients, rtol=1e-4)


def test_products_with_jacobians_and_the_hessian() -> None:
    @rt.relay
    def products(x: VECTOR, v: VECTOR):
        _, backward = rt.vjp(squares)(x, v)
        _, forward = rt.jvp(squares)(x, v)
        (curved,) = rt.hessian_vector(cubes, wrt=[0])(x, 1.0, v)
        return backward[0] + forward + curved

    for found in _both(products.module, X, V):
        np.testing.assert_allclose(found, 2 * X * V + 2 * X * V + 6 * X * V, rtol=1e-5)


def test_what_is_no_parameter_is_an_error_at_its_place() -> None:
    @rt.relay
    def slope(x: VECTOR):
        return rt.grad(cubes, wrt="scales")(x, 2.0)[0]

    with pytest.raises(rt.ParseError, match="no parameter 'scales'") as caught:
        slope.module  # noqa: B018
    assert "scale" in str(caught.value.remedy)


def test_a_gradient_is_called_at_once() -> None:
    @rt.relay
    def slope(x: VECTOR):
        functions = (rt.grad(squares), x)
        return functions[1]

    with pytest.raises(rt.ParseError, match="no value by itself") as caught:
        slope.module  # noqa: B018
    assert "Call it" in str(caught.value.remedy)


def test_a_derivative_of_nothing_is_an_error() -> None:
    @rt.relay
    def slope(x: VECTOR):
        return rt.grad(of=squares)(x)[0]

    with pytest.raises(rt.ParseError, match="that of one function"):
        slope.module  # noqa: B018
