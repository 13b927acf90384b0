"""image.grid_sample: the image at positions that another tensor names.

The grid has, along its second axis, the coordinates of each output element, the one of the last
spatial axis first; -1 and 1 are the ends of the image. A NaN stands for -1, as torch documents it
and onnxruntime computes it: exported networks divide 0 by 0 where a map has one pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, wide_dtype
from relay_tune.op.image.interpolation import TAPS, method_name, neighbour_weights
from relay_tune.op.layout_indices import compute_elements
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import (
    INDEX,
    Scalar,
    Tensor,
    binary,
    cast,
    index_value,
    literal,
    select,
    unary,
)
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.size import is_symbolic
from relay_tune.typing.relations.pooling import grid_sample as grid_sample_relation

PADDING_MODES = ("zeros", "border", "reflection")

_CUBIC_ALPHA = -0.75

_OF_NAN = -1.0
"""The coordinate that a NaN stands for."""


@dataclass(frozen=True)
class GridSampleAttributes(Attributes):
    """Attributes of image.grid_sample.

    Attributes:
        method: nearest, bilinear or bicubic (nearest, trilinear for three spatial axes).
        layout: layout of the data: NCHW or NCDHW.
        padding_mode: what lies outside: "zeros", the "border" or the "reflection" of the image.
        align_corners: whether -1 and 1 are the centres of the corner elements, not their edges.
    """

    method: str = "bilinear"
    layout: str = "NCHW"
    padding_mode: str = "zeros"
    align_corners: bool = True


@dataclass(frozen=True, slots=True)
class _Sampling:
    """How one spatial axis of `size` elements, a number or an expression, is sampled."""

    method: str
    padding: str
    size: Any
    align_corners: bool

    @property
    def low(self) -> float:
        """The position, in elements, that is -1 in the grid, and at which the axis is mirrored."""
        return 0.0 if self.align_corners else -0.5

    @property
    def length(self) -> Any:
        """How many elements it is from there to 1 in the grid."""
        return self.size - 1.0 if self.align_corners else self.size

    def pixel(self, coordinate: Any) -> Any:
        """The position, in elements, of a coordinate of the grid."""
        return (coordinate + 1.0) * (self.length / 2.0) + self.low

    @property
    def taps(self) -> tuple[int, ...]:
        """Distances of the neighbours from the element at or before the position."""
        return TAPS[self.method]


def _samplings(attributes: GridSampleAttributes, sizes: Sequence[Any]) -> list[_Sampling]:
    if attributes.padding_mode not in PADDING_MODES:
        raise InputError(
            f'Padding mode "{attributes.padding_mode}" is unknown.',
            remedy=f"Use one of {', '.join(PADDING_MODES)}.",
        )
    method = method_name(attributes.method)
    return [
        _Sampling(method, attributes.padding_mode, size, attributes.align_corners) for size in sizes
    ]


def _grid_sample(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    data, grid = inputs
    dtype = wide_dtype(data.dtype)
    sizes = [cast(index_value(n), dtype) if is_symbolic(n) else n for n in data.shape[2:]]
    samplings = _samplings(attributes, sizes)
    rank = len(samplings)

    def element(batch: Scalar, channel: Scalar, *positions: Scalar) -> Scalar:
        neighbours = []
        for n, sampling in enumerate(samplings):
            coordinate = cast(grid[(batch, rank - 1 - n, *positions)], dtype)
            coordinate = select(unary("isnan", coordinate), literal(_OF_NAN, dtype), coordinate)
            neighbours.append(_neighbours(coordinate, sampling))
        total: Scalar | None = None
        for chosen in product(*neighbours):
            term = cast(data[(batch, channel, *(each.index for each in chosen))], dtype)
            for each in chosen:
                term = term if each.inside is None else select(each.inside, term, 0.0)
            for each in chosen:
                term = term * each.weight
            total = term if total is None else total + term
        assert total is not None
        return cast(total, data.dtype)

    return [compute_elements("grid_sample", types[0].shape, element)]


T = TypeVar("T", Scalar, Array)


@dataclass(frozen=True, slots=True)
class _Neighbour(Generic[T]):
    """An element beside a coordinate; zero stands for what is not `inside`, if that is known."""

    index: T
    weight: T
    inside: T | None


def _neighbours(coordinate: Scalar, how: _Sampling) -> list[_Neighbour[Scalar]]:
    """The elements that make up the value at a coordinate."""
    position = how.pixel(coordinate)
    if how.method != "cubic":
        position = _brought_inside(position, how)
    base = unary("round" if how.method == "nearest" else "floor", position)
    weights: list[Scalar] = [literal(1.0, base.dtype)]
    if how.method != "nearest":
        weights = neighbour_weights(position - base, how.method, _CUBIC_ALPHA)
    found = []
    for tap, weight in zip(how.taps, weights, strict=True):
        pixel = base + float(tap)
        inside = None
        if how.padding == "zeros":
            inside = binary("and", binary("ge", pixel, 0.0), binary("le", pixel, how.size - 1.0))
        index = binary("min", _brought_inside(pixel, how), how.size - 1.0)
        index = binary("fmax", literal(0.0, index.dtype), index)  # a NaN has the index 0
        found.append(_Neighbour(cast(index, INDEX), weight, inside))
    return found


def _brought_inside(position: Scalar, how: _Sampling) -> Scalar:
    """The position on the image that is shown at a position, for border and reflection."""
    if how.padding == "zeros":
        return position
    if how.padding == "reflection":
        period = _period(how.length * 2.0)
        distance = unary("abs", position - how.low)
        rest = distance - unary("floor", distance / period) * period
        position = binary("min", rest, period - rest) + how.low
    return _clipped(position, how)


def _period(length: Any) -> Any:
    """After how many elements a reflection repeats; a single element shows itself anyhow."""
    return binary("max", length, 1.0) if isinstance(length, Scalar) else max(length, 1.0)


def _clipped(position: Scalar, how: _Sampling) -> Scalar:
    return binary("max", binary("min", position, how.size - 1.0), 0.0)


def _grid_sample_reference(attributes: GridSampleAttributes, data: Array, grid: Array) -> Array:
    """The sum over neighbours of their values, gathered, times their weights."""
    samplings = _samplings(attributes, data.shape[2:])
    wide = numpy_dtype(wide_dtype(data.dtype.name))
    image, positions = data.astype(wide), grid.astype(wide)
    positions = np.where(np.isnan(positions), wide.type(_OF_NAN), positions)
    neighbours = [
        _neighbour_arrays(positions[:, len(samplings) - 1 - n], sampling)
        for n, sampling in enumerate(samplings)
    ]
    batch = np.arange(len(data)).reshape(-1, *[1] * len(samplings))
    total = np.zeros((*grid.shape[:1], *grid.shape[2:], data.shape[1]), wide)
    for chosen in product(*neighbours):
        where: tuple[Any, ...] = (batch, slice(None), *(each.index for each in chosen))
        values = image[where]
        for each in chosen:
            values = values if each.inside is None else np.where(each.inside[..., None], values, 0)
        weight = np.asarray(prod(each.weight for each in chosen))
        total += values * weight[..., None]
    return np.ascontiguousarray(np.moveaxis(total, -1, 1)).astype(data.dtype)


def _neighbour_arrays(coordinate: Array, how: _Sampling) -> list[_Neighbour[Array]]:
    """numpy form of `_neighbours`."""
    position = how.pixel(coordinate)
    if how.method != "cubic":
        position = _array_brought_inside(position, how)
    base = np.round(position) if how.method == "nearest" else np.floor(position)
    weights = [np.ones_like(base)]
    if how.method != "nearest":
        weights = neighbour_weights(position - base, how.method, _CUBIC_ALPHA)
    found = []
    for tap, weight in zip(how.taps, weights, strict=True):
        pixel = base + tap
        inside = None
        if how.padding == "zeros":
            inside = np.asarray((pixel >= 0) & (pixel <= how.size - 1))
        index = np.fmax(np.minimum(_array_brought_inside(pixel, how), how.size - 1), 0)
        found.append(_Neighbour(index.astype("int64"), weight, inside))
    return found


def _array_brought_inside(position: Array, how: _Sampling) -> Array:
    """numpy form of `_brought_inside`."""
    if how.padding == "zeros":
        return position
    if how.padding == "reflection":
        period = _period(how.length * 2.0)
        rest = np.abs(position - how.low) % period
        position = np.minimum(rest, period - rest) + how.low
    return np.clip(position, 0, how.size - 1)


grid_sample = define(
    name="image.grid_sample",
    arguments=("data", "grid"),
    relation=grid_sample_relation,
    kind=FusionKind.INJECTIVE,
    attributes=GridSampleAttributes,
    compute=_grid_sample,
    reference=_grid_sample_reference,
    documentation="The image at the places that the grid names (Jaderberg et al., 2015).",
)
