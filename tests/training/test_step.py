"""Training steps, against the same steps in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.op import reduction
from tests.training.network import batch, loss_and_gradients, network, weights, with_constants

Array = Any
Update = Callable[[Array, Array, dict[str, Array], int], Array]
NUMBERS = 4


def _sgd(p: Array, g: Array, kept: dict[str, Array], n: int) -> Array:
    return p - 0.3 * (g + 0.01 * p)


def _nesterov(p: Array, g: Array, kept: dict[str, Array], n: int) -> Array:
    kept["v"] = 0.9 * kept.get("v", 0) + g
    return p - 0.3 * (g + 0.9 * kept["v"])


def _adam(decay: float) -> Update:
    def update(p: Array, g: Array, kept: dict[str, Array], n: int) -> Array:
        kept["m"] = 0.9 * kept.get("m", 0) + 0.1 * g
        kept["s"] = 0.999 * kept.get("s", 0) + 0.001 * g * g
        mean, square = kept["m"] / (1 - 0.9**n), kept["s"] / (1 - 0.999**n)
        return p * (1 - 0.05 * decay) - 0.05 * mean / (np.sqrt(square) + 1e-8)

    return update


def _rmsprop(p: Array, g: Array, kept: dict[str, Array], n: int) -> Array:
    kept["s"] = 0.99 * kept.get("s", 0) + 0.01 * g * g
    return p - 0.05 * g / (np.sqrt(kept["s"]) + 1e-8)


OPTIMISERS: dict[str, tuple[Any, Update]] = {
    "sgd": (rt.training.SGD(0.3, decay=0.01), _sgd),
    "nesterov": (rt.training.SGD(0.3, momentum=0.9, nesterov=True), _nesterov),
    "adam": (rt.training.Adam(0.05), _adam(0.0)),
    "adamw": (rt.training.AdamW(0.05), _adam(0.01)),
    "rmsprop": (rt.training.RMSprop(0.05), _rmsprop),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_step_is_what_the_optimiser_says(name: str) -> None:
    optimiser, update = OPTIMISERS[name]
    step = rt.training.step(with_constants(), "cross_entropy", optimiser, threads=1)
    values = dict(zip(step.parameters, [weights()[n] for n in ("w", "v")], strict=True))
    names = dict(zip(("w", "v"), step.parameters, strict=True))
    kept: dict[str, dict[str, Array]] = {name: {} for name in values}
    for number in range(NUMBERS):
        x, target = batch(number)
        now = {plain: values[each] for plain, each in names.items()}
        loss, gradients = loss_and_gradients(now, x, target)
        assert step(x, target) == pytest.approx(loss, rel=1e-5)
        for plain, each in names.items():
            values[each] = update(values[each], gradients[plain], kept[each], number + 1)
    for each, value in values.items():
        np.testing.assert_allclose(step.parameters[each], value, rtol=2e-4, atol=2e-5)


def test_inputs_can_be_trained() -> None:
    step = rt.training.step(network(), parameters=weights(), threads=1)
    assert step.program.batch == ("x", "target")
    first = weights()
    loss, gradients = loss_and_gradients(first, *batch(0))
    assert step(*batch(0)) == pytest.approx(loss, rel=1e-5)
    np.testing.assert_allclose(step.parameters["v"], first["v"] - 0.01 * gradients["v"], rtol=1e-5)


def test_the_common_norm_is_limited() -> None:
    step = rt.training.step(
        network(), "cross_entropy", rt.training.SGD(1.0), parameters=weights(), clip=0.1, threads=1
    )
    before = step.parameters
    step(*batch(0))
    change = [step.parameters[name] - before[name] for name in before]
    assert np.sqrt(sum((each**2).sum() for each in change)) == pytest.approx(0.1, rel=1e-3)


def test_a_loss_can_be_written() -> None:
    def loss(output: rt.Expr, target: rt.Expr) -> rt.Expr:
        return reduction.sum((output - target) * (output - target))

    step = rt.training.step(network(), loss, parameters=weights(), threads=1)
    x, _ = batch(0)
    values = weights()
    expected = np.square(np.tanh(x @ values["w"].T) @ values["v"].T).sum()
    assert step(x, np.zeros((6, 3), np.float32)) == pytest.approx(expected, rel=1e-5)


def test_trained_networks_have_the_new_weights() -> None:
    step = rt.training.step(with_constants(), optimiser=rt.training.SGD(0.5), threads=1)
    step(*batch(0))
    w, v = step.parameters.values()
    x, _ = batch(1)
    found = rt.interpret(step.trained(), x)
    np.testing.assert_allclose(found, np.tanh(x @ w.T) @ v.T, rtol=1e-5, atol=1e-5)


def test_rates_change_with_the_steps() -> None:
    cosine = rt.training.Cosine(0.4, steps=4)
    schedule = rt.training.Warmup(2, cosine)
    step = rt.training.step(
        network(), "cross_entropy", rt.training.SGD(schedule), parameters=weights(), threads=1
    )
    values = weights()
    for number in range(NUMBERS):
        _, gradients = loss_and_gradients(values, *batch(number))
        rate = 0.2 * (1 + np.cos(np.pi * number / 4)) * min(1, (number + 1) / 2)
        values = {name: values[name] - rate * gradients[name] for name in values}
        step(*batch(number))
    np.testing.assert_allclose(step.parameters["w"], values["w"], rtol=1e-4, atol=1e-5)


def test_a_batch_that_does_not_fit_changes_nothing() -> None:
    step = rt.training.step(network(), parameters=weights(), threads=1)
    x, target = batch(0)
    for wrong in ((x,), (x, target, target), (x[:, :2], target)):
        with pytest.raises(rt.InputError):
            step(*wrong)
    assert step.number == 0
    np.testing.assert_array_equal(step.parameters["w"], weights()["w"])


def test_arguments_that_do_not_fit_are_refused() -> None:
    wrong = {"w": np.ones((2, 4), np.float32), "v": weights()["v"]}
    cases: list[tuple[str, dict[str, Any]]] = [
        ("which updates no parameters", {"optimiser": "adam"}),
        ("which updates no parameters", {"optimiser": rt.training.SGD}),
        ("clip is -1.0", {"clip": -1.0}),
        ("clip is nan", {"clip": float("nan")}),
        ("'w' is named twice", {"parameters": ["w", "w"]}),
        ("parameters .* a list of names", {"parameters": "w"}),
        ("parameters .* a list of names", {"parameters": 3}),
        (r"first value of w is Tensor\[\(2, 4\)", {"parameters": wrong}),
        ("loss returns .*, but must return one", {"loss": lambda output, target: output}),
        ("What the loss returns .* an expression", {"loss": lambda output, target: 3.0}),
        ("loss cannot be computed of", {"target": rt.TensorType((5,), "int64")}),
    ]
    for message, options in cases:
        with pytest.raises(rt.RelayError, match=message):
            rt.training.step(network(), **{"parameters": weights(), **options})


def test_a_target_that_is_no_class_is_an_error() -> None:
    step = rt.training.step(network(), parameters=weights(), threads=1)
    x, target = batch(0)
    with pytest.raises(rt.RelayError, match="3"):
        step(x, np.full_like(target, 3))
    assert step.number == 0
    step(x, np.where(target == 0, -100, target))  # those have no loss


def test_a_batch_whose_targets_are_all_ignored_has_the_loss_nan_and_no_gradients() -> None:
    """As in torch."""
    step = rt.training.step(network(), parameters=weights(), threads=1)
    x, target = batch(0)
    assert np.isnan(step(x, np.full_like(target, -100)))
    for name, value in weights().items():
        np.testing.assert_array_equal(step.parameters[name], value)


def test_integers_are_not_trained() -> None:
    rows = rt.parse(
        "def @main(%i: Tensor[(2), int64], %w: Tensor[(5, 3), float32]) { take(%w, %i, axis=0) }"
    )
    with pytest.raises(rt.InputError, match=r"input 'i' cannot be trained: it is Tensor\[\(2,?\)"):
        rt.training.step(rows, "mean_squared_error", parameters={"i": np.zeros(2, np.int64)})
