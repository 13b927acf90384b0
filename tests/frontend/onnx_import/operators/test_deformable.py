from __future__ import annotations

from collections.abc import Callable

import numpy as np

Check = Callable[..., None]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_offsets_in_groups_with_a_mask(check_node: Check) -> None:
    options = {"group": 2, "offset_group": 2, "pads": [1, 0, 1, 1], "strides": [2, 1]}
    height, width = 3, 5
    check_node(
        "DeformConv",
        *(floats(2, 4, 6, 7), floats(6, 2, 3, 4), floats(2, 48, height, width), floats(6)),
        np.abs(floats(2, 24, height, width)),
        native=True,
        **options,
    )


def test_offsets_that_leave_the_image(check_node: Check) -> None:
    offset = floats(1, 8, 4, 4) * 5
    check_node("DeformConv", floats(1, 3, 5, 5), floats(2, 3, 2, 2), offset, opset=19, native=True)
