from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Check = Callable[..., None]


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 5, 5)])
def test_determinants(check_node: Check, shape: tuple[int, ...]) -> None:
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    check_node("Det", data, against="onnxruntime", native=True)


def test_zeros_on_the_diagonal_and_matrices_without_a_full_rank(check_node: Check) -> None:
    data = np.array([[[0, 2, 1], [3, 0, 1], [1, 1, 0]], [[1, 2, 3], [2, 4, 6], [0, 0, 0]]])
    check_node("Det", data.astype(np.float32), native=True)
