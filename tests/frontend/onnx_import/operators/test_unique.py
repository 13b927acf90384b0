from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Check = Callable[..., None]


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": -1}])
@pytest.mark.parametrize("ordered", [0, 1])
def test_unique(check_node: Check, options: dict[str, int], ordered: int) -> None:
    data = np.random.default_rng(0).integers(-1, 2, (7, 2, 3)).astype(np.float32)
    data[3] = data[1]
    data[:, :, 2] = data[:, :, 0]
    arguments = {"sorted": ordered, "outputs": 4, "against": "onnxruntime", "native": True}
    check_node("Unique", data, **arguments, **options)
