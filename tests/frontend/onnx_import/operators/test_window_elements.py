from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Check = Callable[..., None]


def ties(*shape: int) -> np.ndarray:
    """Few different numbers, so that windows have several maxima."""
    return np.random.default_rng(sum(shape)).integers(-3, 3, shape).astype(np.float32)


@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [2, 2], "dilations": [2, 3], "storage_order": 1},
        {"kernel_shape": [4, 3], "strides": [3, 2], "auto_pad": "SAME_UPPER"},
    ],
)
def test_maxima_with_their_indices(check_node: Check, attributes: dict[str, object]) -> None:
    check_node(
        "MaxPool", ties(2, 3, 7, 8), outputs=2, against="onnxruntime", native=True, **attributes
    )


def test_maxima_along_one_axis(check_node: Check) -> None:
    for dtype in ("float32", "int8"):
        data = ties(2, 2, 9).astype(dtype)
        check_node("MaxPool", data, outputs=2, kernel_shape=[3], strides=[2], against="onnxruntime")


def test_unpooling(check_node: Check) -> None:
    data = np.arange(1, 9, dtype=np.float32).reshape(1, 2, 2, 2)
    positions = np.array([0, 3, 9, 14, 17, 19, 28, 31]).reshape(1, 2, 2, 2)
    check_node("MaxUnpool", data, positions, kernel_shape=[2, 2], strides=[2, 2], native=True)


@pytest.mark.parametrize(
    ("block", "attributes"),
    [
        ((2, 3), {}),
        ((3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
        ((2, 2), {"dilations": [2, 1], "strides": [1, 2]}),
    ],
)
def test_columns_to_images(
    check_node: Check, block: tuple[int, int], attributes: dict[str, list[int]]
) -> None:
    sizes = (5, 6)
    strides, pads = attributes.get("strides", [1, 1]), attributes.get("pads", [0] * 4)
    dilations = attributes.get("dilations", [1, 1])
    counts = [
        (sizes[n] + pads[n] + pads[n + 2] - (block[n] - 1) * dilations[n] - 1) // strides[n] + 1
        for n in range(2)
    ]
    data = np.random.default_rng(1).standard_normal((2, 3 * block[0] * block[1], np.prod(counts)))
    shapes = {1: np.array(sizes), 2: np.array(block)}
    check_node("Col2Im", data.astype(np.float32), constants=shapes, native=True, **attributes)
