"""Random calls of layers: products, windows, normalisations, losses."""

from __future__ import annotations

from benchmarks.fuzzing.odd_cases.case import Case, Draw, Maker, images, with_attributes


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
        return Case((images(draw, rank, inputs), weight), attributes, weights=(1,))

    return make


def _depthwise(draw: Draw) -> Case:
    channels = draw.pick(3, 8, 17, 32)
    attributes = {"padding": (1, 1, 1, 1), "groups": channels, "strides": (draw.pick(1, 2),) * 2}
    operands = images(draw, 2, channels), draw.floats(channels, 1, 3, 3)
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
        return Case((images(draw, rank, inputs), weight), attributes, weights=(1,), sound=(1,))

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
        return Case((images(draw, rank, draw.pick(1, 3, 16)),), attributes)

    return make


def _adaptive_pool(rank: int) -> Maker:
    def make(draw: Draw) -> Case:
        return Case(
            (images(draw, rank, draw.pick(1, 3, 16)),),
            {"output_size": tuple(draw.size(1, 4) for _ in range(rank))},
        )

    return make


def _global_pool(rank: int) -> Maker:
    return lambda draw: Case((images(draw, rank, draw.pick(1, 3, 16)),))


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


CASES: dict[str, Maker] = {
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
    "nn.batch_matmul": _batch_matmul,
    "nn.batch_norm": _batch_norm,
    "nn.bias_add": _bias,
    "nn.contrib_conv2d_NCHWc": _blocked_convolution,
    "nn.contrib_depthwise_conv2d_NCHWc": _blocked_depthwise,
    "nn.conv2d": _convolution_2d,
    "nn.cross_entropy": _losses,
    "nn.cross_entropy_with_logits": _losses,
    "nn.dense": _dense,
    "nn.group_norm": _group_norm,
    "nn.instance_norm": _norm,
    "nn.l2_normalize": with_attributes(lambda draw, x: {"eps": 1e-6, "axis": (x.ndim - 1,)}),
    "nn.layer_norm": _norm,
    "nn.lrn": lambda draw: Case((images(draw, 2, draw.size(1, 9)),), {"size": 3}),
    "nn.matmul": _matmul,
    "nn.nll_loss": _nll_loss,
    "nn.prelu": _bias,
}
"""By the name of the operator."""
