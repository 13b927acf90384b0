"""Constants as inputs of @main, in the functions that it calls too."""

# The programs use names that Relay knows and Python does not.
# ruff: noqa: F722, F821, UP037

from __future__ import annotations

import numpy as np

import relay_tune as rt
from relay_tune.training.parameters import parameters_of, with_parameters, with_values

WEIGHT = np.array([[0.5, 1], [-1, 0.25]], "float32")
ROW = np.array([[1, 2]], "float32")


@rt.relay
def layer(x: "Tensor[(1, 2), float32]"):
    return x @ WEIGHT.T


@rt.relay
def mapped(xs: "List[Tensor[(1, 2), float32]]"):
    return map(layer, xs)


@rt.relay
def power(x: "Tensor[(1, 2), float32]", n: int):
    if n == 0:
        return x
    return power(x, n - 1) @ WEIGHT.T


@rt.relay_model
class Chain:
    first: "Tensor[(2, 2), float32]"
    second: "Tensor[(2, 2), float32]"

    def step(self, x: "Tensor[(1, 2), float32]", n: int):
        if n == 0:
            return x
        return np.tanh(self.step(x, n - 1) @ self.second.T)

    def main(self, x: "Tensor[(1, 2), float32]", n: int):
        return self.step(x @ np.transpose(self.first), n)


def test_a_function_that_is_a_value_becomes_one_that_calls_it() -> None:
    assert """
def @main(%xs: List[Tensor[(1, 2), float32]], %weight_0: Tensor[(2, 2), float32]) {
  %0 = fn (%x: Tensor[(1, 2), float32]) {
    @layer(%x, %weight_0)
  };
  @map[Tensor[(1, 2), float32], Tensor[(1, 2), float32]](%0, %xs)
}

def @layer(%x: Tensor[(1, 2), float32], %weight_0: Tensor[(2, 2), float32]) {
  nn.dense(%x, %weight_0)
}
""" in with_parameters(mapped.module).astext()


def test_main_may_call_itself() -> None:
    assert "@main(%x, %1, %weight_0)" in with_parameters(power.module).astext()
    found = rt.interpret(with_parameters(power.module), ROW, 3, 2 * WEIGHT)
    np.testing.assert_allclose(found, 8 * rt.interpret(power.module, ROW, 3))


def test_weights_of_models_have_the_names_of_attributes() -> None:
    model = Chain(first=WEIGHT, second=2 * WEIGHT)
    found = parameters_of(model.main.module)
    assert set(found) == {"first", "second"}
    np.testing.assert_array_equal(found["second"], 2 * WEIGHT)
    other = with_values(model.main.module, {"first": WEIGHT + 1})
    expected = rt.interpret(Chain(first=WEIGHT + 1, second=2 * WEIGHT).main.module, ROW, 3)
    np.testing.assert_array_equal(rt.interpret(other, ROW, 3), expected)


def test_weights_that_a_recursion_reads_are_trained() -> None:
    model = Chain(first=WEIGHT, second=2 * WEIGHT)
    target = np.array([[0.5, -0.5]], "float32")
    step = rt.training.step(model.main.module, "mean_squared_error", rt.training.SGD(0.1))

    def loss(**weights: np.ndarray) -> float:
        values = {"first": WEIGHT, "second": 2 * WEIGHT, **weights}
        program = Chain(**values).main.module
        return float(np.mean((rt.interpret(program, ROW, 3) - target) ** 2))

    for name in ("first", "second"):
        before = step.parameters[name]
        change = np.zeros((2, 2), "float32")
        change[0, 1] = 1e-2
        slope = (loss(**{name: before + change}) - loss(**{name: before - change})) / 2e-2
        once = rt.training.step(model.main.module, "mean_squared_error", rt.training.SGD(0.1))
        once(ROW, 3, target)
        moved = once.parameters[name] - before
        np.testing.assert_allclose(moved[0, 1], -0.1 * slope, rtol=2e-2)
    losses = [step(ROW, 3, target) for _ in range(20)]
    assert losses[-1] < losses[0] / 4
    trained = rt.interpret(step.trained(), ROW, 3)
    assert float(np.mean((trained - target) ** 2)) < losses[-1]


@rt.relay_model
class Rows:
    weight: "Tensor[(2, 2), float32]"

    def main(self, xs: "List[Tensor[(1, 2), float32]]"):
        rows: "Tensor[(?, 2), float32]" = np.zeros((0, 2), "float32")
        for x in xs:
            rows = np.concatenate((rows, np.tanh(x @ self.weight.T)), axis=0)
        return rows


def test_rows_that_a_loop_collects_have_adjoints_of_their_number() -> None:
    model = Rows(weight=WEIGHT)
    inputs, targets = np.arange(6).reshape(3, 2) / 4, np.arange(6).reshape(3, 2) / 8
    step = rt.training.step(model.main.module, "mean_squared_error", rt.training.SGD(0.5))
    rows = [row[None].astype("float32") for row in inputs]
    loss = step(rt.list_value(rows), targets.astype("float32"))
    found = np.tanh(inputs @ WEIGHT.T)
    assert abs(loss - np.mean((found - targets) ** 2)) < 1e-6
    gradient = (2 / 6 * (found - targets) * (1 - found**2)).T @ inputs
    np.testing.assert_allclose(step.parameters["weight"], WEIGHT - 0.5 * gradient, rtol=1e-5)
