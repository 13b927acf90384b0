from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Check = Callable[..., None]


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_maxima_of_regions(check_node: Check, scale: float) -> None:
    """Regions that leave the image, are turned round, empty, or end halfway between elements."""
    images = np.random.default_rng(3).standard_normal((2, 3, 9, 7)).astype(np.float32) - 2
    regions = [
        (0, 0, 0, 6, 8),
        (1, 2, 3, 5, 5),
        (0, 4, 4, 2, 2),
        (1, -3, -3, 30, 30),
        (0, 20, 20, 24, 24),
        (1, 1.5, 2.5, 3.5, 4.5),
    ]
    check_node(
        "MaxRoiPool",
        images,
        np.array(regions, np.float32),
        opset=13,
        pooled_shape=[3, 2],
        spatial_scale=scale,
        against="onnxruntime",
        native=True,
    )
