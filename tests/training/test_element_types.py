"""Training in float64 and float16, numbers among the weights, steps of several threads."""

from __future__ import annotations

from threading import Thread

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import relay_tune as rt
from tests.training.network import TEXT, batch, loss_and_gradients, network, weights

CLIP = 0.05


def typed(dtype: str) -> rt.Module:
    return rt.parse(TEXT.replace("float32", dtype))


def first(dtype: str) -> dict[str, np.ndarray]:
    return {name: value.astype(dtype) for name, value in weights().items()}


def test_parameters_of_float64_are_trained_in_float64() -> None:
    """Rates, decays and norms, too: nothing is rounded to float32 on the way."""
    rate = rt.training.Warmup(3, rt.training.Cosine(0.1, steps=10))
    step = rt.training.step(
        typed("float64"),
        "cross_entropy",
        rt.training.AdamW(rate),
        clip=CLIP,
        parameters=first("float64"),
        threads=1,
    )
    values = first("float64")
    means = {name: np.zeros_like(value) for name, value in values.items()}
    squares = {name: np.zeros_like(value) for name, value in values.items()}
    for number in range(3):
        x, target = batch(number)
        loss, gradients = loss_and_gradients(values, x.astype(np.float64), target)
        norm = np.sqrt(sum((each**2).sum() for each in gradients.values()))
        share = min(1.0, CLIP / (norm + 1e-6))
        now = 0.05 * (1 + np.cos(np.pi * number / 10)) * min(1.0, (number + 1) / 3)
        for name, gradient in gradients.items():
            means[name] = 0.9 * means[name] + 0.1 * share * gradient
            squares[name] = 0.999 * squares[name] + 0.001 * (share * gradient) ** 2
            mean = means[name] / (1 - 0.9 ** (number + 1))
            root = np.sqrt(squares[name] / (1 - 0.999 ** (number + 1)))
            values[name] = values[name] * (1 - now * 0.01) - now * mean / (root + 1e-8)
        assert step(x.astype(np.float64), target) == pytest.approx(loss, rel=1e-12)
    for name, value in values.items():
        np.testing.assert_allclose(step.parameters[name], value, rtol=1e-10)


@pytest.mark.parametrize("optimiser", [rt.training.Adam(0.01), rt.training.RMSprop(0.01)])
def test_states_of_float16_parameters_are_of_float32(optimiser: rt.training.Adam) -> None:
    """The square of a small gradient is no number of float16, nor is epsilon."""
    narrow = rt.training.step(
        typed("float16"), "cross_entropy", optimiser, parameters=first("float16"), threads=1
    )
    wide = rt.training.step(network(), "cross_entropy", optimiser, parameters=weights(), threads=1)
    for number in range(3):
        x, target = batch(number)
        narrow(x.astype(np.float16), target)
        wide(x, target)
    assert {state.dtype.name for state in narrow.states.values()} == {"float32"}
    for name, value in wide.parameters.items():
        found = narrow.parameters[name]
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, value, rtol=0, atol=0.02)


def scaled() -> rt.Module:
    """x w^T s of a file, with a number s."""
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["product"]),
            helper.make_node("Mul", ["product", "s"], ["y"]),
        ],
        "scaled",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [
            numpy_helper.from_array(np.full((3, 4), 0.5, np.float32), "w"),
            numpy_helper.from_array(np.asarray(2.0, np.float32), "s"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    return rt.from_onnx(model.SerializeToString())


def test_a_number_is_trained_where_it_is_named() -> None:
    assert list(rt.training.step(scaled(), "mean_squared_error", threads=1).parameters) == ["w"]
    step = rt.training.step(
        scaled(), "mean_squared_error", rt.training.SGD(0.5), parameters=["s"], threads=1
    )
    x, target = np.ones((2, 3), np.float32), np.zeros((2, 4), np.float32)
    assert step(x, target) == pytest.approx(9.0)
    assert step.parameters["s"] == pytest.approx(2.0 - 0.5 * 2 * 3.0 * 1.5)
    assert rt.interpret(step.trained(), x)[0, 0] == pytest.approx(-2.5 * 1.5)


def test_steps_of_several_threads_follow_each_other() -> None:
    step = rt.training.step(network(), parameters=weights(), threads=1)

    def train() -> None:
        for number in range(20):
            step(*batch(number))

    threads = [Thread(target=train) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert step.number == 60
