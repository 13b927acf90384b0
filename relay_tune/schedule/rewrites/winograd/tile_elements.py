"""What a tile of Winograd's filtering reads, and where elements of a result lie in their tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_tune.schedule.rewrites.winograd.match import Convolution
from relay_tune.schedule.rewrites.winograd.transforms import Filtering, PlaneFiltering, Rows
from relay_tune.tensor.element_at import element_at
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Scalar,
    Tensor,
    binary,
    cast,
    literal,
    select,
)
from relay_tune.tensor.size import surely_less

Element = Callable[[int, int], Scalar]
"""The element at a row and a column of a window."""


def tile_of(filtering: Filtering, index: Scalar, dilation: int) -> tuple[Scalar, Scalar]:
    """The tile of an index of the result, and the index within.

    With a dilation d, every d-th index belongs together: tiles d * i to d * i + d - 1 have the
    indices of one period of `outputs` * d, each those of one phase. (Written as indices within a
    period, so that an axis can be split there.)
    """
    if filtering.outputs == 1:
        return index, literal(0, INDEX)
    period = filtering.outputs * dilation
    if dilation == 1:
        return index // period, index % period
    return index // period * dilation + index % dilation, index % period // dilation


Index = tuple[Scalar, int]
"""An index on an axis, and the largest that it is for any tile."""

IndicesOfTile = Callable[[Filtering, Scalar, int, int], list[Index]]
"""indices(filtering, tile, end, dilation): what a tile before `end` has on an axis."""


def window_of(
    convolution: Convolution,
    filtering: PlaneFiltering,
    data: Tensor,
    tile: tuple[Sequence[Scalar], tuple[int, int]],
    depth: Sequence[Scalar],
    c: Scalar,
) -> Element:
    """The elements d of the window of a tile; beyond the data the last ones of these.

    No result depends on what is beyond, so it may be anything of their size, and a window reads
    the last ones anyway. Asked for element by element, zeros cost more than a minimum.
    `tile` is an image, a row and a column of tiles, and those where rows and columns end.
    """

    def read(indices: Sequence[Index]) -> Scalar:
        value = _nearest(data, (tile[0][0], *depth), indices, c)
        return cast(value, convolution.numbers.transformed)

    return _elements(convolution, filtering, tile, _window_indices, read)


def result_of(
    convolution: Convolution,
    filtering: PlaneFiltering,
    result: Tensor,
    tile: tuple[Sequence[Scalar], tuple[int, int]],
    depth: Sequence[Scalar],
    o: Scalar,
) -> Element:
    """The elements that a tile has of a tensor of the result's shape; zeros beyond it.

    `tile` is an image, a row and a column of tiles, and those where rows and columns end.
    """

    def read(indices: Sequence[Index]) -> Scalar:
        return _bounded(result, (tile[0][0], *depth), indices, o)

    return _elements(convolution, filtering, tile, _result_indices, read)


def _elements(
    convolution: Convolution,
    filtering: PlaneFiltering,
    tile: tuple[Sequence[Scalar], tuple[int, int]],
    indices: IndicesOfTile,
    read: Callable[[Sequence[Index]], Scalar],
) -> Element:
    """What is read at the indices that a tile has on the axes of an image."""
    along, dilations = (filtering.rows, filtering.columns), convolution.dilations
    sides = zip(along, tile[0][1:], tile[1], dilations, strict=True)
    rows, columns = (indices(*each) for each in sides)

    def element(row: int, column: int) -> Scalar:
        return read([rows[row]] if convolution.is_line else [rows[row], columns[column]])

    return element


def _bounded(
    tensor: Tensor, outer: Sequence[Scalar], indices: Sequence[Index], c: Scalar
) -> Scalar:
    """The element at indices of which each is given with its largest value; zero beyond."""
    value: Scalar = tensor[(*outer, *(index for index, _ in indices), c)]
    extents = tensor.shape[-1 - len(indices) : -1]
    for (index, last), extent in reversed(list(zip(indices, extents, strict=True))):
        if not surely_less(last, extent):
            value = select(binary("lt", index, extent), value, 0)
    return value


def _nearest(
    tensor: Tensor, outer: Sequence[Scalar], indices: Sequence[Index], c: Scalar
) -> Scalar:
    """The element at indices of which each is given with its largest value; the last one beyond."""
    extents = tensor.shape[-1 - len(indices) : -1]
    inside = (
        index if surely_less(last, extent) else binary("min", index, extent - 1)
        for (index, last), extent in zip(indices, extents, strict=True)
    )
    return tensor[(*outer, *inside, c)]


def _window_indices(filtering: Filtering, tile: Scalar, end: int, dilation: int) -> list[Index]:
    """What the window of a tile before `end` reads on an axis, and what that is at most."""
    step = filtering.step * dilation
    first, last = _first_index(step, tile, end, dilation)
    distances = [index * dilation for index in range(filtering.window)]
    return [(first + distance, last + distance) for distance in distances]


def _result_indices(filtering: Filtering, tile: Scalar, end: int, dilation: int) -> list[Index]:
    """The indices of a tile before `end` on an axis of the result, and what they are at most."""
    first, last = _first_index(filtering.outputs * dilation, tile, end, dilation)
    distances = [index * dilation for index in range(filtering.outputs)]
    return [(first + distance, last + distance) for distance in distances]


def _first_index(step: int, tile: Scalar, end: int, dilation: int) -> tuple[Scalar, int]:
    """The first index of a tile where periods are `step` apart, and that of the last tile."""
    if dilation == 1:
        first = tile if step == 1 else tile * step
    else:
        first = tile // dilation * step + tile % dilation
    return first, (end - 1) // dilation * step + (end - 1) % dilation


def row_and_column(k: Scalar, extents: tuple[int, int]) -> tuple[Scalar, Scalar]:
    """Where the k-th element of a transformed window lies in it."""
    if 1 in extents:
        first = literal(0, INDEX)
        return (first, k) if extents[0] == 1 else (k, first)
    return k // extents[1], k % extents[1]


def two_passes(
    maps: tuple[Rows, Rows],
    element: Element,
    extents: tuple[int, int],
    at: tuple[Scalar, Scalar],
) -> Scalar:
    """Element `at` of R e C^T for linear maps R of rows and C of columns, and e of `extents`."""
    found = []
    for column in range(extents[1]):
        down = maps[0]([element(row, column) for row in range(extents[0])])
        found.append(_one_of(down, at[0]))
    return _one_of(maps[1](found), at[1])


def _one_of(values: Sequence[Scalar], position: Scalar) -> Scalar:
    """The value at a position, which may be an axis.

    A stage is divided where bounds on an axis select its element; tests for single indices leave it
    whole, so that all indices of a transform are written out together and share what they read.
    """
    if not isinstance(position, Axis):
        return element_at(values, position)
    found = values[-1]
    for index, value in reversed(list(enumerate(values[:-1]))):
        found = select(binary("ne", position, index), found, value)
    return found
