from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Check = Callable[..., None]


@pytest.fixture
def check_microsoft(check_node: Check) -> Check:
    """Compare a node of com.microsoft, in native code, with onnxruntime."""

    def run(operator: str, *inputs: np.ndarray | None, **options: object) -> None:
        check_node(
            operator, *inputs, domain="com.microsoft", against="onnxruntime", native=True, **options
        )

    return run
