"""Random calls of every operator that computes with floats, by the name of the operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Operand = Array | tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A call of an operator.

    Attributes:
        operands: arrays, or tuples of arrays.
        attributes: of the call.
        weights: the operands, by position, that may be constants of a model.
        sound: the operands that get no odd element. The borders of a transposed convolution are
            products with zeros, as those of a convolution are: an infinite weight makes them NaN.
    """

    operands: tuple[Operand, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    weights: tuple[int, ...] = ()
    sound: tuple[int, ...] = ()


class Draw:
    """Random shapes, numbers and choices."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def size(self, low: int = 1, high: int = 9) -> int:
        """A size of an axis."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, *values: Any) -> Any:
        """One of the values."""
        return values[int(self.rng.integers(len(values)))]

    def shape(self, least: int = 1, most: int = 4) -> tuple[int, ...]:
        """The shape of a tensor, at times with a long last axis."""
        rank = self.size(least, most)
        return (*(self.size(1, 5) for _ in range(rank - 1)), self.size(1, self.pick(9, 70)))

    def floats(self, *shape: int) -> Array:
        """Normal numbers."""
        return self.rng.standard_normal(shape).astype(np.float32)

    def positive(self, *shape: int) -> Array:
        """Numbers from 0.5 to 2."""
        return self.rng.uniform(0.5, 2, shape).astype(np.float32)

    def indices(self, bound: int, *shape: int) -> Array:
        """Indices of an axis."""
        return self.rng.integers(0, bound, shape).astype(np.int32)


Maker = Callable[[Draw], Case]


def _unary(draw: Draw) -> Case:
    return Case((draw.floats(*draw.shape()),))


def _binary(draw: Draw) -> Case:
    shape = draw.shape()
    other = tuple(1 if draw.pick(True, False, False) else size for size in shape)
    pair = draw.floats(*shape), draw.floats(*other)
    return Case(pair if draw.pick(True, False) else pair[::-1], weights=(0, 1))


def _reduction(draw: Draw) -> Case:
    data = draw.floats(*draw.shape())
    axes = draw.pick(None, (0,), (-1,), tuple(range(data.ndim)), (draw.size(0, data.ndim - 1),))
    return Case((data,), {"axis": axes, "keepdims": draw.pick(True, False)})


def _along(draw: Draw) -> Case:
    data = draw.floats(*draw.shape())
    return Case((data,), {"axis": draw.size(0, data.ndim - 1)})


def _images(draw: Draw, rank: int, channels: int) -> Array:
    sizes = [draw.size(5, {1: 40, 2: 14, 3: 7}[rank]) for _ in range(rank)]
    return draw.floats(draw.size(1, 3), channels, *sizes)


def _convolution(rank: int) -> Maker:
    def make(draw: Draw) -> Case:
        groups = draw.pick(1, 1, 1, 2)
        inputs, outputs = (groups * draw.pick(1, 3, 8, 16, 17, 32) for _ in range(2))
        kernel = [draw.pick(1, 3, 3, 2)] * rank
        attributes = {
            "strides": (draw.pick(1, 1, 2),) * rank,
            "dilation": (draw.pick(1, 1, 2),) * rank,
            "padding": (draw.size(0, 2),) * (2 * rank),
            "groups": groups,
        }
        weight = draw.floats(outputs, inputs // groups, *kernel)
        return Case((_images(draw, rank, inputs), weight), attributes, weights=(1,))

    return make


def _depthwise(draw: Draw) -> Case:
    channels = draw.pick(3, 8, 17, 32)
    attributes = {"padding": (1, 1, 1, 1), "groups": channels, "strides": (draw.pick(1, 2),) * 2}
    operands = _images(draw, 2, channels), draw.floats(channels, 1, 3, 3)
    return Case(operands, attributes, weights=(1,))


def _convolution_2d(draw: Draw) -> Case:
    return (_depthwise if draw.pick(True, False, False, False) else _convolution(2))(draw)


def _transposed(rank: int) -> Maker:
    def make(draw: Draw) -> Case:
        inputs, outputs, kernel = draw.pick(1, 3, 16), draw.pick(1, 5, 16), draw.pick(2, 3, 4)
        strides = (draw.pick(1, 2, 3),) * rank
        attributes = {
            "strides": strides,
            "padding": (draw.size(0, 1),) * (2 * rank),
            "dilation": (draw.pick(1, 1, 2),) * rank,
        }
        weight = draw.floats(inputs, outputs, *[kernel] * rank)
        return Case((_images(draw, rank, inputs), weight), attributes, weights=(1,), sound=(1,))

    return make


def _blocked_convolution(draw: Draw) -> Case:
    data = draw.floats(draw.size(1, 2), 2, draw.size(5, 9), draw.size(5, 9), 8)
    return Case((data, draw.floats(2, 2, 3, 3, 8, 8)), {"padding": (1, 1)}, weights=(1,))


def _blocked_depthwise(draw: Draw) -> Case:
    data = draw.floats(draw.size(1, 2), 2, draw.size(5, 9), draw.size(5, 9), 8)
    attributes = {"padding": (1, 1), "groups": 16, "kernel_layout": "OIHW1i8o"}
    return Case((data, draw.floats(2, 1, 3, 3, 1, 8)), attributes, weights=(1,))


def _pool(rank: int) -> Maker:
    def make(draw: Draw) -> Case:
        size = draw.size(1, 3)
        attributes = {
            "pool_size": (size,) * rank,
            "strides": (draw.size(1, 3),) * rank,
            "padding": (draw.size(0, size - 1),) * (2 * rank),
            "ceil_mode": draw.pick(True, False),
        }
        return Case((_images(draw, rank, draw.pick(1, 3, 16)),), attributes)

    return make


def _adaptive_pool(rank: int) -> Maker:
    def make(draw: Draw) -> Case:
        return Case(
            (_images(draw, rank, draw.pick(1, 3, 16)),),
            {"output_size": tuple(draw.size(1, 4) for _ in range(rank))},
        )

    return make


def _global_pool(rank: int) -> Maker:
    return lambda draw: Case((_images(draw, rank, draw.pick(1, 3, 16)),))


def _dense(draw: Draw) -> Case:
    rows, steps, columns = draw.pick(1, 3, 17, 64), draw.size(1, 80), draw.size(1, 70)
    return Case((draw.floats(rows, steps), draw.floats(columns, steps)), weights=(1,))


def _matmul(draw: Draw) -> Case:
    rows, steps, columns = draw.pick(1, 3, 17, 64), draw.size(1, 80), draw.size(1, 70)
    return Case((draw.floats(rows, steps), draw.floats(steps, columns)), weights=(0, 1))


def _batch_matmul(draw: Draw) -> Case:
    batch, rows, steps, columns = draw.size(1, 3), draw.size(1, 20), draw.size(), draw.size(1, 40)
    return Case((draw.floats(batch, rows, steps), draw.floats(batch, columns, steps)))


def _batch_norm(draw: Draw) -> Case:
    data = draw.floats(*draw.shape(2))
    scales = [draw.positive(data.shape[1]) for _ in range(4)]
    return Case((data, *scales), {"axis": 1}, weights=(1, 2, 3, 4))


def _norm(draw: Draw) -> Case:
    data = draw.floats(*draw.shape(3))
    scales = [draw.positive(data.shape[1]) for _ in range(2)]
    return Case((data, *scales), {"axis": 1}, weights=(1, 2))


def _group_norm(draw: Draw) -> Case:
    groups, each = draw.size(1, 3), draw.size(1, 4)
    data = draw.floats(draw.size(1, 3), groups * each, draw.size(), draw.size())
    scales = [draw.positive(groups * each) for _ in range(2)]
    return Case((data, *scales), {"num_groups": groups}, weights=(1, 2))


def _bias(draw: Draw) -> Case:
    data = draw.floats(*draw.shape(2))
    return Case((data, draw.floats(data.shape[1])), {"axis": 1}, weights=(1,))


def _losses(draw: Draw) -> Case:
    rows, classes = draw.size(), draw.size(2)
    return Case((draw.positive(rows, classes), draw.positive(rows, classes)))


def _nll_loss(draw: Draw) -> Case:
    rows, classes = draw.size(), draw.size(2)
    operands = (
        draw.floats(rows, classes),
        draw.indices(classes, rows),
        draw.positive(classes),
    )
    return Case(operands, {"reduction": draw.pick("mean", "sum", "none")})


def _concatenate(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    return Case((tuple(draw.floats(*shape) for _ in range(draw.size(1, 3))),), {"axis": 0})


def _split(draw: Draw) -> Case:
    parts, each = draw.size(1, 3), draw.size(1, 5)
    return Case((draw.floats(parts * each, draw.size()),), {"indices_or_sections": parts})


def _take(draw: Draw) -> Case:
    data = draw.floats(*draw.shape(2))
    return Case((data, draw.indices(data.shape[0], draw.size(), draw.size())), {"axis": 0})


def _gather(draw: Draw) -> Case:
    data = draw.floats(draw.size(), draw.size())
    return Case((data, draw.indices(data.shape[0], draw.size(), data.shape[1])), {"axis": 0})


def _gather_nd(draw: Draw) -> Case:
    data = draw.floats(draw.size(), draw.size(), draw.size(1, 4))
    rows = [draw.indices(size, draw.size(1, 5)) for size in data.shape[:1]]
    return Case((data, np.stack(rows)))


def _scatter(draw: Draw) -> Case:
    data = draw.floats(draw.size(2), draw.size())
    indices = draw.indices(data.shape[0], draw.size(1, 3), data.shape[1])
    reduction = draw.pick("update", "add", "mul", "min", "max")
    operands = data, indices, draw.floats(*indices.shape)
    return Case(operands, {"axis": 0, "reduction": reduction})


def _scatter_nd(draw: Draw) -> Case:
    data = draw.floats(draw.size(2), draw.size())
    indices = draw.indices(data.shape[0], 1, draw.size(1, 4))
    updates = draw.floats(indices.shape[1], data.shape[1])
    return Case((data, indices, updates), {"mode": draw.pick("update", "add")})


def _where(draw: Draw) -> Case:
    shape = draw.shape()
    condition = draw.rng.random(shape) < 0.5
    return Case((condition, draw.floats(*shape), draw.floats(*shape)))


def _pad(draw: Draw) -> Case:
    data = draw.floats(*draw.shape())
    widths = tuple((draw.size(0, 3), draw.size(0, 3)) for _ in data.shape)
    return Case((data, draw.floats()), {"pad_width": widths})


def _mirror_pad(draw: Draw) -> Case:
    data = draw.floats(draw.size(3), draw.size(3))
    attributes = {"pad_width": ((1, 2), (0, 2)), "mode": draw.pick("SYMMETRIC", "REFLECT")}
    return Case((data,), attributes)


def _resize(rank: int) -> Maker:
    def make(draw: Draw) -> Case:
        attributes = {
            "size": tuple(draw.size(2, 12) for _ in range(rank)),
            "method": draw.pick("linear", "nearest_neighbor", *(["cubic"] if rank < 3 else [])),
            "coordinate_transformation_mode": draw.pick("half_pixel", "align_corners"),
        }
        return Case((_images(draw, rank, draw.pick(1, 3)),), attributes)

    return make


def _grid_sample(draw: Draw) -> Case:
    data = draw.floats(draw.size(1, 2), 2, draw.size(3), draw.size(3))
    grid = draw.rng.uniform(-1.2, 1.2, (data.shape[0], 2, 4, 5)).astype(np.float32)
    modes = draw.pick("zeros", "border", "reflection")
    return Case((data, grid), {"method": draw.pick("bilinear", "nearest"), "padding_mode": modes})


def _upsampling(draw: Draw) -> Case:
    attributes = {
        "scale_h": draw.size(1, 3),
        "scale_w": draw.size(1, 3),
        "method": draw.pick("nearest_neighbor", "bilinear"),
    }
    return Case((_images(draw, 2, 3),), attributes)


def _one_hot(draw: Draw) -> Case:
    return Case((draw.indices(5, draw.size()), draw.floats(), draw.floats()), {"depth": 5})


def _sequence_mask(draw: Draw) -> Case:
    data = draw.floats(draw.size(), draw.size(), draw.size())
    return Case((data, draw.indices(data.shape[0] + 1, data.shape[1])))


def _set_diagonal(draw: Draw) -> Case:
    data = draw.floats(draw.size(1, 3), draw.size(), draw.size())
    return Case((data, draw.floats(data.shape[0], min(data.shape[1:]))))


def _slice(draw: Draw) -> Case:
    data = draw.floats(draw.size(3), draw.size(3))
    return Case((data,), {"begin": (1, 0), "end": (3, 3), "strides": (1, draw.size(1, 2))})


def _strided_set(draw: Draw) -> Case:
    data = draw.floats(draw.size(4), draw.size(3))
    return Case((data, draw.floats(2, 3)), {"begin": (1, 0), "end": (3, 3)})


def _pair(draw: Draw) -> Case:
    shape = draw.shape(2)
    return Case((draw.floats(*shape), draw.floats(*shape)))


def _variance(draw: Draw) -> Case:
    data = draw.floats(*draw.shape(2))
    return Case((data, data.mean(axis=0, keepdims=True)), {"axis": (0,)})


def _space_to_batch(draw: Draw) -> Case:
    data = draw.floats(draw.size(1, 2), 4, 6, draw.size())
    return Case((data,), {"block_shape": (2, 3), "paddings": ((0, 2), (0, 0))})


def _batch_to_space(draw: Draw) -> Case:
    data = draw.floats(4 * draw.size(1, 2), 3, 2, draw.size())
    return Case((data,), {"block_shape": (2, 2), "crops": ((0, 1), (1, 0))})


def _reverse_sequence(draw: Draw) -> Case:
    data = draw.floats(draw.size(), draw.size(), draw.size())
    return Case((data, draw.indices(data.shape[1], data.shape[0]) + 1))


def _triangle(draw: Draw) -> Case:
    data = draw.floats(draw.size(1, 3), draw.size(), draw.size())
    return Case((data, np.array(draw.size(0, 2), np.int64)), {"upper": draw.pick(True, False)})


def _upsampling_3d(draw: Draw) -> Case:
    return Case((_images(draw, 3, 2),), {"scale_d": 2, "scale_w": draw.size(1, 2)})


def _with(attributes: Callable[[Draw, Array], dict[str, Any]], least: int = 1) -> Maker:
    """A call on one tensor with attributes that depend on it."""

    def make(draw: Draw) -> Case:
        data = draw.floats(*draw.shape(least))
        return Case((data,), attributes(draw, data))

    return make


CASES: dict[str, Maker] = {
    **dict.fromkeys(
        "abs acos acosh asin asinh atan atanh ceil copy cos cosh erf exp fast_erf fast_exp "
        "fast_tanh floor isfinite isinf isnan log log10 log1p log2 negative nn.batch_flatten "
        "nn.gelu nn.leaky_relu nn.relu round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc "
        "nn.dropout".split(),
        _unary,
    ),
    **dict.fromkeys(
        "add divide equal floor_divide floor_mod greater greater_equal less less_equal maximum "
        "minimum mod multiply not_equal power subtract trunc_divide trunc_mod".split(),
        _binary,
    ),
    **dict.fromkeys("argmax argmin max mean min prod sum".split(), _reduction),
    **dict.fromkeys(
        "argsort cumprod cumsum nn.fast_softmax nn.log_softmax nn.softmax sort".split(), _along
    ),
    **{f"nn.conv{rank}d": _convolution(rank) for rank in (1, 3)},
    **{f"nn.conv{rank}d_transpose": _transposed(rank) for rank in (1, 2, 3)},
    **{f"nn.{kind}_pool{rank}d": _pool(rank) for kind in ("avg", "max") for rank in (1, 2, 3)},
    **{
        f"nn.adaptive_{kind}_pool{rank}d": _adaptive_pool(rank)
        for kind in ("avg", "max")
        for rank in (1, 2, 3)
    },
    **{
        f"nn.global_{kind}_pool{rank}d": _global_pool(rank)
        for kind in ("avg", "max")
        for rank in (1, 2, 3)
    },
    **{f"image.resize{rank}d": _resize(rank) for rank in (1, 2, 3)},
    "broadcast_to": _with(lambda draw, x: {"shape": (draw.size(), *x.shape)}),
    **dict.fromkeys(
        "broadcast_to_like cast_like collapse_sum_like reshape_like slice_like".split(), _pair
    ),
    "cast": _with(lambda draw, x: {"dtype": draw.pick("float64", "bool")}),
    "clip": _with(lambda draw, x: {"a_min": -0.5, "a_max": 0.5}),
    "collapse_sum_to": _with(lambda draw, x: {"shape": (1, *x.shape[1:])}, 2),
    "concatenate": _concatenate,
    "expand_dims": _with(lambda draw, x: {"axis": 0}),
    "gather": _gather,
    "gather_nd": _gather_nd,
    "image.grid_sample": _grid_sample,
    "layout_transform": lambda draw: Case(
        (_images(draw, 2, 8),), {"src_layout": "NCHW", "dst_layout": draw.pick("NHWC", "NCHW4c")}
    ),
    "matrix_set_diag": _set_diagonal,
    "nn.batch_matmul": _batch_matmul,
    "nn.batch_norm": _batch_norm,
    "nn.batch_to_space_nd": _batch_to_space,
    "nn.bias_add": _bias,
    "nn.contrib_conv2d_NCHWc": _blocked_convolution,
    "nn.contrib_depthwise_conv2d_NCHWc": _blocked_depthwise,
    "nn.conv2d": _convolution_2d,
    "nn.cross_entropy": _losses,
    "nn.cross_entropy_with_logits": _losses,
    "nn.dense": _dense,
    "nn.depth_to_space": lambda draw: Case((_images(draw, 2, 8),), {"block_size": 2}),
    "nn.dilate": _with(lambda draw, x: {"strides": tuple(draw.size(1, 3) for _ in x.shape)}),
    "nn.group_norm": _group_norm,
    "nn.instance_norm": _norm,
    "nn.l2_normalize": _with(lambda draw, x: {"eps": 1e-6, "axis": (x.ndim - 1,)}),
    "nn.layer_norm": _norm,
    "nn.lrn": lambda draw: Case((_images(draw, 2, draw.size(1, 9)),), {"size": 3}),
    "nn.matmul": _matmul,
    "nn.mirror_pad": _mirror_pad,
    "nn.nll_loss": _nll_loss,
    "nn.pad": _pad,
    "nn.prelu": _bias,
    "nn.space_to_batch_nd": _space_to_batch,
    "nn.space_to_depth": lambda draw: Case(
        (draw.floats(draw.size(1, 2), 3, 4, 6),), {"block_size": 2}
    ),
    "nn.upsampling": _upsampling,
    "nn.upsampling3d": _upsampling_3d,
    "one_hot": _one_hot,
    "repeat": _with(lambda draw, x: {"repeats": draw.size(1, 3), "axis": 0}),
    "reshape": _with(lambda draw, x: {"newshape": (-1,)}),
    "reverse": _with(lambda draw, x: {"axis": 0}),
    "reverse_sequence": _reverse_sequence,
    "scatter_elements": _scatter,
    "scatter_nd": _scatter_nd,
    "sequence_mask": _sequence_mask,
    "sliding_window": _with(
        lambda draw, x: {"axis": x.ndim - 1, "window_shape": (1,), "strides": (draw.size(1, 2),)}
    ),
    "split": _split,
    "squeeze": lambda draw: Case((draw.floats(draw.size(), 1, draw.size()),), {"axis": (1,)}),
    "stack": _concatenate,
    "strided_set": _strided_set,
    "strided_slice": _slice,
    "take": _take,
    "tile": _with(lambda draw, x: {"reps": tuple(draw.size(1, 2) for _ in x.shape)}),
    "topk": _with(
        lambda draw, x: {
            "k": draw.size(1, x.shape[-1]),
            "ret_type": draw.pick("values", "both"),
            "is_ascend": draw.pick(True, False),
        }
    ),
    "transpose": _unary,
    "trilu": _triangle,
    "variance": _variance,
    "where": _where,
}
"""By the name of the operator."""
