"""Convolutions some of whose kernel elements read nothing but padding."""

from __future__ import annotations

import numpy as np

from relay_tune.ir.expr import Call, Expr
from relay_tune.op.layout_indices import spatial_letters
from relay_tune.op_rules.matching import attributes_of, constant_data, static_shape
from relay_tune.op_rules.typed import constant_of, recall
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.relations.support import as_tuple
from relay_tune.typing.windows import pad_pairs, window_count


@dataclass(frozen=True, slots=True)
class _Window:
    """The window of a convolution along an axis of its data.

    Attributes:
        size: elements of the axis.
        kernel_axis: that of the weight, of `elements`.
    """

    size: int
    kernel_axis: int
    elements: int
    stride: int
    dilation: int
    pads: tuple[int, int]

    def used(self) -> range:
        """The elements of the window that read data somewhere, and those between them."""
        count = window_count("", self.size, self.elements, self.stride, self.dilation, self.pads)
        assert isinstance(count, int)  # all sizes are
        read = [each for each in range(self.elements) if self._reads_data(each, count)]
        return range(read[0], read[-1] + 1) if read else range(0)

    def _reads_data(self, element: int, count: int) -> bool:
        first = element * self.dilation - self.pads[0]
        positions = range(first, first + count * self.stride, self.stride)
        return any(0 <= position < self.size for position in positions)

    def pads_of(self, used: range) -> tuple[int, int]:
        """The padding with which a window of these elements alone has as many positions."""
        before, after = self.pads
        left = self.elements - used.stop
        return before - used.start * self.dilation, after - left * self.dilation


def elements_over_padding(call_: Call) -> Expr | None:
    """A convolution without the elements of its kernel that read padding in all positions.

    before: nn.conv2d(%x, W, dilation=[12, 12], padding=[12, 12])      %x: 8x8 pixels, W: 3x3
    after:  nn.conv2d(%x, W[:, :, 1:2, 1:2], padding=[0, 0])

    So are dilated convolutions of segmentation networks (atrous spatial pyramid pooling, Chen et
    al., 2017, arXiv 1706.05587, section 3.2) on images that are small for them.
    """
    data = constant_data(call_.arguments[1])
    windows = _windows(call_)
    if data is None or not windows or not _is_finite(data):
        return None
    used = [each.used() for each in windows]
    pads = [each.pads_of(kept) for each, kept in zip(windows, used, strict=True)]
    is_less = any(len(kept) < each.elements for each, kept in zip(windows, used, strict=True))
    if not is_less or not all(used) or min(map(min, pads)) < 0:
        return None
    kept_box = [slice(None)] * data.ndim
    for each, kept in zip(windows, used, strict=True):
        kept_box[each.kernel_axis] = slice(kept.start, kept.stop)
    weight = constant_of(np.ascontiguousarray(data[tuple(kept_box)]))
    return recall(
        call_,
        (call_.arguments[0], weight),
        kernel_size=tuple(map(len, used)),
        padding=(*(before for before, _ in pads), *(after for _, after in pads)),
        dilation=tuple(
            each.dilation if len(kept) > 1 else 1 for each, kept in zip(windows, used, strict=True)
        ),
    )


def _windows(call_: Call) -> list[_Window]:
    """The windows of a convolution of known sizes, axis by axis; none for blocked layouts."""
    known = attributes_of(call_)
    shapes = [static_shape(argument) for argument in call_.arguments]
    layouts = known.data_layout, known.kernel_layout
    if None in shapes or not all(layout.isalpha() and layout.isupper() for layout in layouts):
        return []
    letters = spatial_letters(known.data_layout)
    strides = as_tuple(known.strides, len(letters), "strides")
    dilation = as_tuple(known.dilation, len(letters), "dilation")
    pads = pad_pairs(known.padding, len(letters))
    data, weight = (shape or () for shape in shapes)
    found = []
    for number, letter in enumerate(letters):
        size, own = data[known.data_layout.index(letter)], known.kernel_layout.index(letter)
        of_axis = strides[number], dilation[number], pads[number]
        found.append(_Window(size, own, weight[own], *of_axis))
    return found


def _is_finite(data: np.ndarray) -> bool:
    """Whether nothing but zero comes of elements times zero."""
    return data.dtype.kind in "iu" or bool(np.isfinite(data.astype(np.float32)).all())
