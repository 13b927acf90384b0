"""rt.custom_vjp and rt.custom_jvp: functions whose derivatives users compute."""

import numpy as np
import pytest

import relay_tune as rt

THREE, FOUR, DOUBLE = "Tensor[(3), float32]", "Tensor[(4), float64]", "float64"
ROWS, WEIGHT = "Tensor[(5, 3), float32]", "Tensor[(2, 3), float32]"
X = np.array([1.2, 2.7, -0.6], "float32")


def rounded_forward(x):
    return rounded(x), ()


def rounded_backward(left, d):
    return d


@rt.custom_vjp(rounded_forward, rounded_backward)
@rt.relay
def rounded(x: THREE):
    return np.round(x)


@rt.relay
def squares(x: THREE):
    return np.sum(rounded(x) * rounded(x))


def test_a_straight_through_estimator_in_each_mode() -> None:
    slope = 2 * np.round(X)
    for run in (rt.interpret, lambda module, *inputs: rt.build(module, threads=1)(*inputs)):
        value, (found,) = run(rt.value_and_grad(squares), X)
        assert value == (np.round(X) ** 2).sum()
        np.testing.assert_allclose(found, slope)
        assert run(rt.jvp(squares), X, X)[1] == pytest.approx((slope * X).sum())
        np.testing.assert_allclose(run(rt.hessian_vector(squares), X, X)[0], 2 * X)
    np.testing.assert_allclose(rt.interpret(rounded.module, X), np.round(X))


def softplus_forward(x):
    return softplus(x), x


def softplus_backward(x, d):
    return d * sigmoid(x)  # noqa: F821


@rt.custom_vjp(softplus_forward, softplus_backward)
@rt.relay
def softplus(x: FOUR):
    return np.maximum(x, 0) + np.log(1 + np.exp(-np.abs(x)))


@rt.relay
def softplus_sum(x: FOUR):
    return np.sum(softplus(x))


def test_a_stable_form_has_second_derivatives_by_its_rule() -> None:
    x = np.array([-700.0, 0.0, 1.0, 700.0])
    sigmoid = 1 / (1 + np.exp(-x))
    (found,) = rt.interpret(rt.grad(softplus_sum), x)
    np.testing.assert_allclose(found, sigmoid, rtol=1e-12, atol=1e-300)
    (curved,) = rt.interpret(rt.hessian_vector(softplus_sum), x, np.ones(4))
    np.testing.assert_allclose(curved, sigmoid * (1 - sigmoid), rtol=1e-12, atol=1e-300)


@rt.relay
def step(a: DOUBLE, z: DOUBLE):
    return np.cos(z) * a * 0.5


def solve_forward(a, n):
    z = solve(a, n)
    return z, (a, z)


def solve_backward(left, d):
    a, z = left
    u = d
    for _ in range(30):
        u = d + vjp(step, wrt=(1,))(a, z, u)[1][0]  # noqa: F821
    return vjp(step, wrt=(0,))(a, z, u)[1][0]  # noqa: F821


@rt.custom_vjp(solve_forward, solve_backward)
@rt.relay
def solve(a: DOUBLE, n: int):
    z = np.float64(0.5)
    for _ in range(n):
        z = step(a, z)
    return z


@rt.relay
def solved(a: DOUBLE, n: int):
    return solve(a, n) * 2


def test_a_solver_with_an_implicit_derivative_and_an_integer() -> None:
    a, rounds = np.float64(0.7), np.int32(30)
    value, (slope,) = rt.build(rt.value_and_grad(solved, wrt="a"), threads=1)(a, rounds)
    z = value / 2
    assert z == pytest.approx(0.35 * np.cos(z))
    assert slope == pytest.approx(np.cos(z) / (1 + 0.35 * np.sin(z)))

    def first(at: float) -> float:
        (found,) = rt.interpret(gradient, np.float64(at), rounds)
        return float(found)

    gradient = rt.grad(solved, wrt="a")
    (curved,) = rt.interpret(rt.hessian_vector(solved, wrt="a"), a, rounds, np.float64(1))
    assert curved == pytest.approx((first(0.7001) - first(0.6999)) / 2e-4, rel=1e-5)


def tripled_tangent(x, n, t):
    return tripled(x, n), 3.0 * t * tripled(x, n)


@rt.custom_jvp(tripled_tangent)
@rt.relay
def tripled(x: DOUBLE, n: int):
    return np.exp(x)


def test_a_rule_for_tangents_serves_both_modes_of_any_order() -> None:
    x, n, e = np.float64(0.5), np.int32(1), np.exp(0.5)
    asked = rt.value_and_grad(tripled, wrt="x")
    assert rt.interpret(asked, x, n)[1][0] == pytest.approx(3 * e)
    assert rt.interpret(rt.jvp(tripled, wrt="x"), x, n, 1.0)[1] == pytest.approx(3 * e)
    found = rt.interpret(rt.hessian_vector(tripled, wrt="x"), x, n, np.float64(1))[0]
    assert found == pytest.approx(9 * e)


def gentle_forward(w):
    return w, ()


def gentle_backward(left, d):
    return np.clip(d, -0.01, 0.01)


@rt.custom_vjp(gentle_forward, gentle_backward)
@rt.relay
def gentle(w: WEIGHT):
    return w


@rt.relay
def layer(x: ROWS, w: WEIGHT):
    return x @ gentle(w).T


def test_a_training_step_clips_by_a_rule() -> None:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((5, 3), np.float32)
    w = generator.standard_normal((2, 3), np.float32)
    sgd = rt.training.SGD(1.0)
    trained = rt.training.step(
        layer.module, "mean_squared_error", sgd, parameters={"w": w}, threads=1
    )
    target = np.zeros((5, 2), np.float32)
    trained(x, target)
    slope = 2 * (x @ w.T - target).T @ x / 10
    wanted = w - np.clip(slope, -0.01, 0.01)
    np.testing.assert_allclose(trained.parameters["w"], wanted, rtol=1e-5)


def test_what_is_decorated_is_a_program() -> None:
    with pytest.raises(rt.InputError, match="What custom_vjp decorates"):
        rt.custom_vjp(rounded_forward, rounded_backward)(lambda x: x)
    with pytest.raises(rt.InputError, match="A rule of custom_jvp"):
        rt.custom_jvp(3)
