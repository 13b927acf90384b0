from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Check = Callable[..., None]


@pytest.mark.parametrize("shape", [(1, 1), (3, 4, 4), (2, 3, 6, 6)])
def test_inverses(check_microsoft: Check, shape: tuple[int, ...]) -> None:
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    check_microsoft("Inverse", data, rtol=1e-3)


def test_zeros_on_the_diagonal(check_microsoft: Check) -> None:
    data = np.roll(np.diag(np.arange(1, 6)), 2, axis=0)
    check_microsoft("Inverse", data.astype(np.float32))


def test_matrices_that_are_not_square(node_model: Callable[..., onnx.ModelProto]) -> None:
    model = node_model("Inverse", [np.ones((2, 3), np.float32)], domain="com.microsoft")
    with pytest.raises(ModelError, match="2 x 3 has no inverse"):
        from_onnx(model)
