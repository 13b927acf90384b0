from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Check = Callable[..., None]


def boxes_and_scores(center: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    corners = random.random((2, 20, 2))
    sizes = random.random((2, 20, 2)) * 0.5
    boxes = np.concatenate([corners, sizes if center else corners + sizes], axis=2)
    return boxes.astype(np.float32), random.random((2, 3, 20)).astype(np.float32)


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("most", [0, 4, 100])
def test_non_max_suppression(check_node: Check, center: int, most: int) -> None:
    limits = (np.array([most]), np.array([0.3], np.float32), np.array([0.4], np.float32))
    inputs = (*boxes_and_scores(center, most), *limits)
    options = {"center_point_box": center, "against": "onnxruntime", "native": True}
    check_node("NonMaxSuppression", *inputs, **options)


def test_non_max_suppression_without_thresholds(check_node: Check) -> None:
    boxes, scores = boxes_and_scores(0, 5)
    most = {2: np.array(3)}
    check_node(
        "NonMaxSuppression", boxes, scores, constants=most, against="onnxruntime", native=True
    )


@pytest.mark.parametrize(
    ("mode", "transformation", "samples"),
    [
        ("avg", "half_pixel", 2),
        ("max", "output_half_pixel", 2),
        ("avg", "output_half_pixel", 0),
        ("max", "half_pixel", 0),
    ],
)
def test_roi_align(check_node: Check, mode: str, transformation: str, samples: int) -> None:
    random = np.random.default_rng(3)
    corners = random.random((5, 2)) * 10 - 1
    regions = np.concatenate([corners, corners + random.random((5, 2)) * 8], axis=1)
    inputs = (random.standard_normal((2, 3, 7, 9)), regions)
    options = {
        "opset": 16,
        "output_height": 3,
        "output_width": 2,
        "sampling_ratio": samples,
        "spatial_scale": 0.8,
        "mode": mode,
        "coordinate_transformation_mode": transformation,
    }
    floats = [each.astype(np.float32) for each in inputs]
    examples = np.array([0, 1, 1, 0, 1])
    is_native = mode == "avg" or samples > 0  # compiling the other one takes seconds
    check_node("RoiAlign", *floats, examples, against="onnxruntime", native=is_native, **options)
