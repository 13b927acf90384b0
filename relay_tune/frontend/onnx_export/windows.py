"""Convolutions, pooling, resizing to ONNX, which knows the layouts NC... and OI... only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay_tune.frontend.onnx_export.call import OperatorCall, OperatorTranslator, static_shape
from relay_tune.frontend.onnx_export.graph import unsupported
from relay_tune.typing.relations.support import as_tuple
from relay_tune.typing.windows import pad_pairs

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
_METHODS = {
    "nearest_neighbor": "nearest",
    "linear": "linear",
    "bilinear": "linear",
    "trilinear": "linear",
    "cubic": "cubic",
    "bicubic": "cubic",
}


def _require_layout(attributes: Any, name: str, wanted: str) -> None:
    """Raises UnsupportedOperatorError if a layout attribute is neither empty nor `wanted`."""
    layout = getattr(attributes, name, "")
    if layout not in ("", wanted):
        raise unsupported(f"{name} {layout}; write {wanted}")


def _steps(call: OperatorCall, rank: int) -> dict[str, tuple[int, ...]]:
    """strides and dilations, one number a spatial axis, and pads, befores then afters."""
    attributes = call.attributes
    pairs = pad_pairs(attributes.padding, rank)
    return {
        "strides": as_tuple(attributes.strides, rank, "strides"),
        "dilations": as_tuple(attributes.dilation, rank, "dilation"),
        "pads": (*(before for before, _ in pairs), *(after for _, after in pairs)),
    }


def _convolution(call: OperatorCall) -> str:
    rank = call.rank() - 2
    transposed = call.operator.endswith("_transpose")
    spatial = _SPATIAL[rank]
    _require_layout(call.attributes, "data_layout", "NC" + spatial)
    _require_layout(call.attributes, "out_layout", "NC" + spatial)
    _require_layout(call.attributes, "kernel_layout", ("IO" if transposed else "OI") + spatial)
    if call.result_type.dtype != call.type_of(0).dtype:
        raise unsupported(f"out_dtype {call.result_type.dtype}")
    more: dict[str, Any] = {"group": call.attributes.groups, "kernel_shape": call.shape(1)[2:]}
    if transposed:
        extra = as_tuple(call.attributes.output_padding, rank, "output_padding")
        more["output_padding"] = extra
    operator = "ConvTranspose" if transposed else "Conv"
    return call.node(operator, call.input(0), call.input(1), **more, **_steps(call, rank))


def _pool(call: OperatorCall) -> str:
    attributes, rank = call.attributes, call.rank() - 2
    _require_layout(attributes, "layout", "NC" + _SPATIAL[rank])
    _require_layout(attributes, "out_layout", "NC" + _SPATIAL[rank])
    more: dict[str, Any] = {
        "kernel_shape": as_tuple(attributes.pool_size, rank, "pool_size"),
        "ceil_mode": int(attributes.ceil_mode),
        **_steps(call, rank),
    }
    if call.operator.startswith("nn.max_pool"):
        return call.node("MaxPool", call.input(0), **more)
    if more.pop("dilations") != (1,) * rank:
        raise unsupported("dilation of an average")
    if attributes.ceil_mode and attributes.count_include_pad:
        raise unsupported("ceil_mode together with count_include_pad")
    include = int(attributes.count_include_pad)
    return call.node("AveragePool", call.input(0), count_include_pad=include, **more)


def _global_pool(call: OperatorCall) -> str:
    _require_layout(call.attributes, "layout", "NC" + _SPATIAL[call.rank() - 2])
    maximum = "max" in call.operator
    return call.node("GlobalMaxPool" if maximum else "GlobalAveragePool", call.input(0))


def _adaptive_pool(call: OperatorCall) -> str:
    """Where the result divides the data, all windows are equal."""
    rank = call.rank() - 2
    _require_layout(call.attributes, "layout", "NC" + _SPATIAL[rank])
    sizes, results = call.shape()[2:], static_shape(call.result_type)[2:]
    if any(size % result for size, result in zip(sizes, results, strict=True)):
        raise unsupported(f"output_size {results}, which does not divide {sizes}")
    windows = [size // result for size, result in zip(sizes, results, strict=True)]
    operator = "MaxPool" if "max" in call.operator else "AveragePool"
    return call.node(operator, call.input(0), kernel_shape=windows, strides=windows)


def _resize(call: OperatorCall) -> str:
    attributes = call.attributes
    _require_layout(attributes, "layout", "NC" + _SPATIAL[call.rank() - 2])
    mode = attributes.coordinate_transformation_mode
    if attributes.roi is not None or mode not in ("half_pixel", "align_corners", "asymmetric"):
        raise unsupported(f"coordinate_transformation_mode {mode}")
    if attributes.scales is not None or attributes.out_dtype:
        raise unsupported("attributes scales and out_dtype")
    default = "round" if mode == "align_corners" else "floor"
    rounding = attributes.rounding_method or default
    return _resized(
        call,
        mode=_METHODS[attributes.method],
        coordinate_transformation_mode=mode,
        nearest_mode="round_prefer_ceil" if rounding == "round" else rounding,
        cubic_coeff_a=float(attributes.cubic_alpha),
        exclude_outside=int(attributes.cubic_exclude),
    )


def _upsampling(call: OperatorCall) -> str:
    attributes = call.attributes
    _require_layout(attributes, "layout", "NCHW")
    if attributes.method == "bicubic":
        raise unsupported("method bicubic")
    mode = "align_corners" if attributes.align_corners else "asymmetric"
    return _resized(
        call,
        mode=_METHODS[attributes.method],
        coordinate_transformation_mode=mode,
        nearest_mode="round_prefer_ceil" if attributes.align_corners else "floor",
    )


def _resized(call: OperatorCall, **attributes: Any) -> str:
    sizes = call.graph.integers(*static_shape(call.result_type))
    return call.node("Resize", call.input(0), "", "", sizes, **attributes)


def _depth_to_space(call: OperatorCall) -> str:
    attributes = call.attributes
    _require_layout(attributes, "layout", "NCHW")
    size, mode = attributes.block_size, attributes.mode
    return call.node("DepthToSpace", call.input(0), blocksize=size, mode=mode)


def _space_to_depth(call: OperatorCall) -> str:
    _require_layout(call.attributes, "layout", "NCHW")
    return call.node("SpaceToDepth", call.input(0), blocksize=call.attributes.block_size)


_RANKS = (1, 2, 3)

WINDOWS: Mapping[str, OperatorTranslator] = {
    **{f"nn.conv{rank}d": _convolution for rank in _RANKS},
    **{f"nn.conv{rank}d_transpose": _convolution for rank in _RANKS},
    **{f"nn.{kind}_pool{rank}d": _pool for rank in _RANKS for kind in ("max", "avg")},
    **{f"nn.global_{kind}_pool{rank}d": _global_pool for rank in _RANKS for kind in ("max", "avg")},
    **{
        f"nn.adaptive_{kind}_pool{rank}d": _adaptive_pool
        for rank in _RANKS
        for kind in ("max", "avg")
    },
    **{f"image.resize{rank}d": _resize for rank in _RANKS},
    "nn.upsampling": _upsampling,
    "nn.depth_to_space": _depth_to_space,
    "nn.space_to_depth": _space_to_depth,
}
