"""Windows of convolutions and pools: attributes with defaults, and padding made explicit."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.ir.dim import Dim
from relay_tune.quick_dataclass import dataclass

LARGEST_WINDOW_ATTRIBUTE = 2**31


@dataclass(frozen=True, slots=True)
class Windows:
    """How windows move over the spatial axes, one number an axis.

    `before` and `after` are the padding; `overhang` is what a last window that is not full needs
    behind it (rounding up).
    """

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    overhang: tuple[int, ...]

    @property
    def padding(self) -> tuple[int, ...]:
        """All befores, then all afters, the overhang included."""
        behind = tuple(a + b for a, b in zip(self.after, self.overhang, strict=True))
        return (*self.before, *behind)

    def count(self, axis: int, size: int) -> int:
        """How many windows there are along an axis; rounded towards zero, as onnxruntime does."""
        span = (self.size[axis] - 1) * self.dilations[axis] + 1
        room = size + self.before[axis] + self.after[axis] + self.overhang[axis] - span
        step = self.strides[axis]
        return -(-room // step) + 1 if room < 0 else room // step + 1


def spatial_rank(rank: int) -> int:
    """The number of spatial axes of a tensor [batch, channels, spatial ...]."""
    if not 3 <= rank <= 5:
        raise UnsupportedOperatorError(
            f"1, 2 or 3 spatial axes are supported, but the input has {rank} dimension(s)."
        )
    return rank - 2


def windows_of(
    node: OnnxNode,
    sizes: Sequence[Dim],
    kernel: Sequence[int],
    partial: bool = False,
    overhangs: bool = True,
) -> Windows:
    """The windows of a node over data of spatial `sizes`; raises ModelError if they do not fit.

    `partial`: one window may be larger than the padded axis, by less than a step. (The number of
    windows is a quotient plus 1; onnxruntime rounds the quotient of pools towards zero.) Without
    `overhangs`, nothing is added behind the padding for windows that are not full.
    """
    rank = len(sizes)
    kernel = checked_numbers(kernel, rank, "kernel_shape", 1)
    strides = checked_numbers(node.integers("strides", (1,) * rank), rank, "strides", 1)
    dilations = checked_numbers(node.integers("dilations", (1,) * rank), rank, "dilations", 1)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    ceil_mode = node.flag("ceil_mode", 0)
    mode = node.text("auto_pad", "NOTSET") or "NOTSET"
    before, after, overhang = [], [], []
    explicit = _explicit_pads(node, rank) if mode == "NOTSET" else (0,) * (2 * rank)
    for axis, dim in enumerate(sizes):
        step, span = strides[axis], spans[axis]
        pads = (explicit[axis], explicit[axis + rank])
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            pads = same_pads(_same_size(dim, step, span), step, span, mode)
        elif mode not in ("NOTSET", "VALID"):
            raise ModelError(f"attribute auto_pad has the unknown value {mode!r}.")
        before.append(pads[0])
        after.append(pads[1])
        is_wider = partial and isinstance(dim, int) and dim + sum(pads) < span
        rounds_up = overhangs and (ceil_mode or is_wider)
        overhang.append(_overhang(dim, step, span, pads) if rounds_up else 0)
    return Windows(kernel, strides, dilations, tuple(before), tuple(after), tuple(overhang))


def checked_numbers(values: Sequence[int], rank: int, name: str, smallest: int) -> tuple[int, ...]:
    """An attribute of one number an axis; raises ModelError if one is missing or too small."""
    if len(values) != rank or any(
        not smallest <= value <= LARGEST_WINDOW_ATTRIBUTE for value in values
    ):
        raise ModelError(
            f"attribute {name} must hold {rank} number(s) of at least {smallest}, "
            f"but is {tuple(values)}."
        )
    return tuple(values)


def _explicit_pads(node: OnnxNode, rank: int) -> tuple[int, ...]:
    return checked_numbers(node.integers("pads", (0,) * (2 * rank)), 2 * rank, "pads", 0)


def same_pads(size: int, step: int, span: int, mode: str) -> tuple[int, int]:
    """Padding for ceil(size / step) windows; an odd element goes to the end with SAME_UPPER."""
    total = max(0, (-(-size // step) - 1) * step + span - size)
    small, large = total // 2, total - total // 2
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def _same_size(dim: Dim, step: int, span: int) -> int:
    """A size that is padded as `dim` is: any, where the padding is the same for all."""
    return 1 if step == 1 or span == 1 else static_dim(dim)


def _overhang(size: Dim, step: int, span: int, pads: tuple[int, int]) -> int:
    """Padding that the last window needs; it must begin before the padding's end.

    Where the size is open, as much as it may need: windows that begin in it are none.
    """
    if not isinstance(size, int) and pads[1] + step <= span:
        return step - 1
    size = static_dim(size)
    room = size + sum(pads) - span
    count = -(-room // step) + 1
    if count > 1 and (count - 1) * step >= size + pads[0]:
        count -= 1
    return max(0, (count - 1) * step - room) if count > 0 else 0
