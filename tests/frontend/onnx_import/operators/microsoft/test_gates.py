from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Check = Callable[..., None]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("name", ["silu", "sigmoid"])
def test_gated_norms_of_groups(check_microsoft: Check, name: str) -> None:
    inputs = (floats(2, 3, 12), floats(4), floats(2, 3, 12) + 1)
    check_microsoft("GatedRMSNorm", *inputs, activation=name, epsilon=0.01)


def test_gates_of_linear_attention(check_microsoft: Check) -> None:
    scale = -np.abs(floats(4))
    inputs = (floats(2, 3, 4), floats(4), scale, floats(2, 3, 4) + 1)
    check_microsoft("LinearAttentionGate", *inputs, outputs=2)
