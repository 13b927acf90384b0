"""A small network, and what numpy makes of it."""

from __future__ import annotations

import numpy as np

import relay_tune as rt
from relay_tune.transform.bind_parameters import BindParameters

TEXT = """
def @main(%x: Tensor[(6, 4), float32], %w: Tensor[(5, 4), float32], %v: Tensor[(3, 5), float32]) {
  nn.dense(tanh(nn.dense(%x, %w)), %v)
}"""


def weights(seed: int = 0) -> dict[str, np.ndarray]:
    """First values of the parameters."""
    generator = np.random.default_rng(seed)
    return {
        "w": generator.standard_normal((5, 4), np.float32),
        "v": generator.standard_normal((3, 5), np.float32),
    }


def network() -> rt.Module:
    """With its weights as inputs."""
    return rt.parse(TEXT)


def with_constants() -> rt.Module:
    """With its weights as constants."""
    return rt.infer_types(BindParameters(weights())(network()))


def batch(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, and classes."""
    generator = np.random.default_rng(100 + number)
    return generator.standard_normal((6, 4), np.float32), generator.integers(0, 3, 6)


def loss_and_gradients(
    values: dict[str, np.ndarray], x: np.ndarray, target: np.ndarray
) -> tuple[float, dict[str, np.ndarray]]:
    """The cross entropy and its derivatives, in float64."""
    w, v = values["w"].astype(np.float64), values["v"].astype(np.float64)
    hidden = np.tanh(x @ w.T)
    logits = hidden @ v.T
    shifted = logits - logits.max(-1, keepdims=True)
    logarithms = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    rows = np.arange(len(x))
    slope = np.exp(logarithms)
    slope[rows, target] -= 1
    slope /= len(x)
    inner = (slope @ v) * (1 - hidden**2)
    return -logarithms[rows, target].mean(), {"w": inner.T @ x, "v": slope.T @ hidden}
