"""Random calls of operators that move, select, join and resample elements."""

from __future__ import annotations

import numpy as np

from benchmarks.fuzzing.odd_cases.case import Case, Draw, Maker, images, with_attributes


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
        return Case((images(draw, rank, draw.pick(1, 3)),), attributes)

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
    return Case((images(draw, 2, 3),), attributes)


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
    return Case((images(draw, 3, 2),), {"scale_d": 2, "scale_w": draw.size(1, 2)})


CASES: dict[str, Maker] = {
    **{f"image.resize{rank}d": _resize(rank) for rank in (1, 2, 3)},
    "concatenate": _concatenate,
    "expand_dims": with_attributes(lambda draw, x: {"axis": 0}),
    "gather": _gather,
    "gather_nd": _gather_nd,
    "image.grid_sample": _grid_sample,
    "layout_transform": lambda draw: Case(
        (images(draw, 2, 8),), {"src_layout": "NCHW", "dst_layout": draw.pick("NHWC", "NCHW4c")}
    ),
    "matrix_set_diag": _set_diagonal,
    "nn.batch_to_space_nd": _batch_to_space,
    "nn.depth_to_space": lambda draw: Case((images(draw, 2, 8),), {"block_size": 2}),
    "nn.dilate": with_attributes(
        lambda draw, x: {"strides": tuple(draw.size(1, 3) for _ in x.shape)}
    ),
    "nn.mirror_pad": _mirror_pad,
    "nn.pad": _pad,
    "nn.space_to_batch_nd": _space_to_batch,
    "nn.space_to_depth": lambda draw: Case(
        (draw.floats(draw.size(1, 2), 3, 4, 6),), {"block_size": 2}
    ),
    "nn.upsampling": _upsampling,
    "nn.upsampling3d": _upsampling_3d,
    "one_hot": _one_hot,
    "repeat": with_attributes(lambda draw, x: {"repeats": draw.size(1, 3), "axis": 0}),
    "reshape": with_attributes(lambda draw, x: {"newshape": (-1,)}),
    "reverse": with_attributes(lambda draw, x: {"axis": 0}),
    "reverse_sequence": _reverse_sequence,
    "scatter_elements": _scatter,
    "scatter_nd": _scatter_nd,
    "sequence_mask": _sequence_mask,
    "sliding_window": with_attributes(
        lambda draw, x: {"axis": x.ndim - 1, "window_shape": (1,), "strides": (draw.size(1, 2),)}
    ),
    "split": _split,
    "squeeze": lambda draw: Case((draw.floats(draw.size(), 1, draw.size()),), {"axis": (1,)}),
    "stack": _concatenate,
    "strided_set": _strided_set,
    "strided_slice": _slice,
    "take": _take,
    "tile": with_attributes(lambda draw, x: {"reps": tuple(draw.size(1, 2) for _ in x.shape)}),
    "trilu": _triangle,
}
"""By the name of the operator."""
