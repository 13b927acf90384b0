"""Random calls of functions of single elements, of reductions and of orders."""

from __future__ import annotations

import numpy as np

from benchmarks.fuzzing.odd_cases.case import Case, Draw, Maker, with_attributes


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


def _where(draw: Draw) -> Case:
    shape = draw.shape()
    condition = draw.rng.random(shape) < 0.5
    return Case((condition, draw.floats(*shape), draw.floats(*shape)))


def _pair(draw: Draw) -> Case:
    shape = draw.shape(2)
    return Case((draw.floats(*shape), draw.floats(*shape)))


def _variance(draw: Draw) -> Case:
    data = draw.floats(*draw.shape(2))
    return Case((data, data.mean(axis=0, keepdims=True)), {"axis": (0,)})


def _quantization(draw: Draw) -> Case:
    data = draw.floats(*draw.shape(2))
    zero = draw.indices(20, data.shape[1]).astype(np.int8)
    attributes = {"out_dtype": "int8", "axis": 1}
    return Case((data, draw.positive(data.shape[1]), zero), attributes, weights=(1, 2))


def _dequantization(draw: Draw) -> Case:
    data = draw.indices(100, *draw.shape(2)).astype(np.int8)
    zero = draw.indices(20, data.shape[1]).astype(np.int8)
    return Case((data, draw.positive(data.shape[1]), zero), {"axis": 1}, weights=(1, 2))


def _block_dequantization(draw: Draw) -> Case:
    rows, blocks = draw.size(), draw.size()
    data = draw.indices(100, rows, 4 * blocks).astype(np.int8)
    zero = draw.indices(20, rows, blocks).astype(np.int8)
    return Case((data, draw.positive(rows, blocks), zero), {"block": 4}, weights=(1, 2))


CASES: dict[str, Maker] = {
    **dict.fromkeys(
        "abs acos acosh asin asinh atan atanh ceil copy cos cosh erf exp fast_erf fast_exp "
        "fast_tanh floor isfinite isinf isnan log log10 log1p log2 negative nn.batch_flatten "
        "nn.gelu nn.leaky_relu nn.relu round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc "
        "nn.dropout qnn.observe transpose".split(),
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
    **dict.fromkeys(
        "broadcast_to_like cast_like collapse_sum_like reshape_like slice_like".split(), _pair
    ),
    "broadcast_to": with_attributes(lambda draw, x: {"shape": (draw.size(), *x.shape)}),
    "cast": with_attributes(lambda draw, x: {"dtype": draw.pick("float64", "bool")}),
    "qnn.dequantize": _dequantization,
    "qnn.dequantize_blocks": _block_dequantization,
    "qnn.quantize": _quantization,
    "clip": with_attributes(lambda draw, x: {"a_min": -0.5, "a_max": 0.5}),
    "collapse_sum_to": with_attributes(lambda draw, x: {"shape": (1, *x.shape[1:])}, 2),
    "topk": with_attributes(
        lambda draw, x: {
            "k": draw.size(1, x.shape[-1]),
            "ret_type": draw.pick("values", "both"),
            "is_ascend": draw.pick(True, False),
        }
    ),
    "variance": _variance,
    "where": _where,
}
"""By the name of the operator."""
