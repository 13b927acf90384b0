"""Places and weights of interpolation along one axis, as the ONNX operator Resize defines them."""

from __future__ import annotations

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.quick_dataclass import dataclass

MAXIMUM_TAPS = 4096


OLD_NEAREST = "old"
"""Before version 11 has a `nearest_mode`: down in axes that grow, up in those that shrink."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How elements are interpolated: the attributes of Resize."""

    mode: str
    coordinates: str
    rounding: str
    cubic: float
    exclude_outside: bool
    antialias: bool
    extrapolation: float


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: its old and new size, the scale between them, and the region of interest."""

    length: int
    size: int
    scale: float
    region: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Taps:
    """For each tap (rows) and each element of the result (columns) a position and a weight.

    `outside` marks elements of the result that take the extrapolation value instead.
    """

    places: np.ndarray
    weights: np.ndarray
    outside: np.ndarray


def axis_taps(axis: Axis, sampling: Sampling) -> Taps:
    """The taps of an axis; raises ModelError for an unknown mode."""
    if axis.length == 0 and axis.size > 0:
        raise ModelError("an empty axis cannot be resized.")
    coordinates = _coordinates(axis, sampling.coordinates)
    outside = np.zeros(axis.size, bool)
    if sampling.coordinates == "tf_crop_and_resize":
        outside = (coordinates < 0) | (coordinates > axis.length - 1)
    if sampling.mode == "nearest":
        positions = _nearest(coordinates, sampling.rounding, axis.scale)[None, :]
        weights = np.ones(positions.shape)
    else:
        positions, weights = _interpolated(axis, coordinates, sampling)
    clipped = np.clip(positions, 0, max(axis.length - 1, 0)).astype(np.int64)
    return Taps(clipped, weights, outside)


def _coordinates(axis: Axis, mode: str) -> np.ndarray:
    """Where the elements of the result lie on the old axis."""
    x = np.arange(axis.size, dtype=np.float64)
    length, scaled_length = axis.length, axis.scale * axis.length
    match mode:
        case "half_pixel":
            return np.asarray((x + 0.5) / axis.scale - 0.5)
        case "half_pixel_symmetric":
            centre = length / 2 * (1 - axis.size / scaled_length)
            return centre + (x + 0.5) / axis.scale - 0.5
        case "pytorch_half_pixel":
            return (x + 0.5) / axis.scale - 0.5 if axis.size > 1 else np.zeros(axis.size)
        case "align_corners":
            if scaled_length == 1:
                return np.zeros(axis.size)
            return x * (length - 1) / (scaled_length - 1)
        case "asymmetric":
            return x / axis.scale
        case "tf_half_pixel_for_nn":
            return (x + 0.5) / axis.scale
        case "tf_crop_and_resize":
            return _cropped(axis, x)
        case _:
            raise ModelError(f"coordinate_transformation_mode has the unknown value {mode!r}.")


def _cropped(axis: Axis, x: np.ndarray) -> np.ndarray:
    start, end = axis.region
    if axis.size <= 1:
        return np.full(axis.size, 0.5 * (start + end) * (axis.length - 1))
    step = (end - start) * (axis.length - 1) / (axis.size - 1)
    return start * (axis.length - 1) + x * step


def _nearest(coordinates: np.ndarray, rounding: str, scale: float) -> np.ndarray:
    match rounding:
        case "round_prefer_floor":
            return np.asarray(np.ceil(coordinates - 0.5))
        case "round_prefer_ceil":
            return np.asarray(np.floor(coordinates + 0.5))
        case "floor":
            return np.asarray(np.floor(coordinates))
        case "ceil":
            return np.asarray(np.ceil(coordinates))
        case _ if rounding == OLD_NEAREST:
            return np.asarray(np.ceil(coordinates) if scale < 1 else np.floor(coordinates))
        case _:
            raise ModelError(f"nearest_mode has the unknown value {rounding!r}.")


def _interpolated(
    axis: Axis, coordinates: np.ndarray, sampling: Sampling
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours on both sides, weighted by a kernel that antialiasing widens."""
    kernel_radius = {"linear": 1, "cubic": 2}.get(sampling.mode)
    if kernel_radius is None:
        raise ModelError(f"attribute mode has the unknown value {sampling.mode!r}.")
    spread = min(axis.scale, 1.0) if sampling.antialias else 1.0
    if 2 * kernel_radius / spread > MAXIMUM_TAPS:
        raise ModelError(f"a scale of {axis.scale} is too small.")
    first = int(np.floor(-kernel_radius / spread) + 1)
    offsets = np.arange(first, 2 - first)[:, None]
    base = np.ceil(coordinates) - 1
    distances = np.abs(offsets - (coordinates - base)) * spread
    weights = _linear(distances) if kernel_radius == 1 else _cubic(distances, sampling.cubic)
    positions = base + offsets
    if sampling.exclude_outside:
        weights = np.where((positions >= 0) & (positions < axis.length), weights, 0)
    if sampling.exclude_outside or sampling.antialias:
        weights = weights / weights.sum(axis=0)
    return positions, weights


def _linear(distance: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(1 - distance, 0, 1))


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution kernel (IEEE Trans. ASSP 29, 1981) with the parameter `a`."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))
