from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Check = Callable[..., None]


@pytest.fixture
def check_classical(check_node: Check) -> Check:
    """check_classical(operator, *inputs, **attributes): native code gives what onnxruntime does."""

    def run(operator: str, *inputs: np.ndarray, version: int = 3, **options: object) -> None:
        check_node(
            operator,
            *inputs,
            domain="ai.onnx.ml",
            domain_version=version,
            against="onnxruntime",
            native=True,
            **options,
        )

    return run
