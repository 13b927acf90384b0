from __future__ import annotations

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.op.image.grid_sample import grid_sample

ONNX_METHOD = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}


def _grid(spatial, axes):
    """Positions inside and outside of the image; none is halfway between two elements."""
    generator = np.random.default_rng(3)
    return generator.uniform(-1.9, 1.9, (2, axes, *spatial)).astype("float32")


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_grid_sample_agrees_with_onnxruntime(
    check_record, run_onnx, random_array, method, padding, align
):
    data, grid = random_array((2, 3, 5, 6)), _grid((4, 7), 2)
    attributes = {"method": method, "padding_mode": padding, "align_corners": align}
    found = check_record(grid_sample, [data, grid], attributes, 1e-4)
    expected = run_onnx(
        "GridSample",
        [data, np.moveaxis(grid, 1, -1).copy()],
        {"mode": ONNX_METHOD[method], "padding_mode": padding, "align_corners": int(align)},
        20,
    )
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("padding", ["zeros", "border"])
def test_three_spatial_axes(check_record, run_onnx, random_array, padding):
    data, grid = random_array((2, 2, 3, 4, 5)), _grid((2, 3, 2), 3)
    attributes = {"layout": "NCDHW", "padding_mode": padding, "align_corners": False}
    found = check_record(grid_sample, [data, grid], attributes, 1e-4)
    expected = run_onnx(
        "GridSample",
        [data, np.moveaxis(grid, 1, -1).copy()],
        {"mode": "linear", "padding_mode": padding, "align_corners": 0},
        20,
    )
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


def test_an_unknown_padding_mode_is_an_error(random_array):
    record = grid_sample.attributes(padding_mode="white")
    with pytest.raises(InputError, match="white"):
        grid_sample.reference(record, random_array((1, 1, 2, 2)), random_array((1, 2, 2, 2)))


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
def test_what_lies_outside_takes_nothing_from_the_border(check_record, method):
    data, grid = np.ones((1, 1, 4, 4), "float32"), np.full((1, 2, 1, 2), 3.0, "float32")
    data[0, 0, -1, -1] = np.nan
    grid[0, :, 0, 1] = -0.5
    found = check_record(grid_sample, [data, grid], {"method": method})
    assert found[0, 0, 0, 0] == 0 and np.isfinite(found[0, 0, 0, 1])


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_odd_coordinates_touch_no_other_results(check_record, random_array, padding, odd):
    data, grid = random_array((1, 2, 4, 4)), random_array((1, 2, 3, 3)) / 3
    attributes = {"padding_mode": padding}
    before = check_record(grid_sample, [data, grid], attributes)
    grid[0, 0, 1, 1] = odd
    after = check_record(grid_sample, [data, grid], attributes)
    others = np.arange(9).reshape(3, 3) != 4
    np.testing.assert_array_equal(after[..., others], before[..., others])


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_a_nan_stands_for_the_first_end(
    check_record, run_onnx, random_array, method, padding, align
):
    data, grid = random_array((2, 3, 5, 6)), _grid((4, 7), 2)
    grid[0, 0, 1, 1] = grid[0, 1, 2, 0] = np.nan
    grid[1, :, 3, 3] = np.nan
    attributes = {"method": method, "padding_mode": padding, "align_corners": align}
    found = check_record(grid_sample, [data, grid], attributes, 1e-4)
    expected = run_onnx(
        "GridSample",
        [data, np.moveaxis(grid, 1, -1).copy()],
        {"mode": ONNX_METHOD[method], "padding_mode": padding, "align_corners": int(align)},
        20,
    )
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)
