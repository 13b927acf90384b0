"""Training steps of recursions, whose weights' gradients are collected, against numpy."""

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.transform.pipeline import default_pipeline

WORDS, WIDTH = 7, 4
TEXT = """
type List[A] { Cons(A, List[A]), Nil }
def @state(%words: List[int32], %h: Tensor[(1, 4), float32], %w: Tensor[(4, 4), float32],
    %table: Tensor[(7, 4), float32]) -> Tensor[(1, 4), float32] {
  match (%words) {
    Cons(%word, %rest) =>
      @state(%rest, tanh(nn.dense(%h, %w) + take(%table, %word, axis=0)), %w, %table),
    Nil => %h,
  }
}
def @main(%words: List[int32], %w: Tensor[(4, 4), float32], %table: Tensor[(7, 4), float32],
    %v: Tensor[(3, 4), float32]) {
  nn.dense(@state(%words, zeros(shape=(1, 4)), %w, %table), %v)
}
"""


def _weights() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    shapes = {"w": (WIDTH, WIDTH), "table": (WORDS, WIDTH), "v": (3, WIDTH)}
    return {
        name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }


def _gradients(
    values: dict[str, np.ndarray], words: list[int], target: int
) -> dict[str, np.ndarray]:
    """Of the cross entropy of the last state's scores, step by step, in float64."""
    w, table, v = (values[name].astype(np.float64) for name in ("w", "table", "v"))
    states = [np.zeros(WIDTH)]
    for word in words:
        states.append(np.tanh(w @ states[-1] + table[word]))
    scores = np.exp(v @ states[-1])
    slope = scores / scores.sum()
    slope[target] -= 1
    found = {name: np.zeros(value.shape) for name, value in values.items()}
    found["v"] = np.outer(slope, states[-1])
    back = v.T @ slope
    for place in reversed(range(len(words))):
        inner = back * (1 - states[place + 1] ** 2)
        found["w"] += np.outer(inner, states[place])
        found["table"][words[place]] += inner
        back = w.T @ inner
    return found


@pytest.mark.parametrize("words", [[], [3], [2, 5, 2, 0, 6, 2, 1]])
def test_a_step_of_a_recursion_is_that_of_numpy(words: list[int]) -> None:
    values = _weights()
    step = rt.training.step(
        rt.parse(TEXT), "cross_entropy", rt.training.SGD(0.5), parameters=values, threads=1
    )
    gradients = _gradients(values, words, 1)
    step(rt.list_value([np.int32(word) for word in words]), np.asarray([1]))
    for name, value in values.items():
        wanted = value - 0.5 * gradients[name]
        np.testing.assert_allclose(step.parameters[name], wanted, rtol=1e-5, atol=1e-6)


def test_its_gradients_are_collected() -> None:
    step = rt.training.step(rt.parse(TEXT), parameters=_weights(), threads=1)
    text = default_pipeline().until("collect_rows")(step.program.module).astext()
    backward = text.partition("def @state_backward")[2].partition("\ndef")[0]
    assert "TermProductRows" in backward and "TermScatteredRows" in backward
    assert "scatter_nd" not in backward and "transpose_a" not in backward
