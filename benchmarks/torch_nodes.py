"""ONNX files computed by torch, node by node, for derivatives of theirs by autograd.

Only what networks of floats need is here; another operator is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper
from torch import Tensor

Attributes = Mapping[str, Any]
Inputs = Sequence[Any]
"""Tensors, and None for those that are left out."""

TYPES = {
    onnx.TensorProto.FLOAT: torch.float32,
    onnx.TensorProto.DOUBLE: torch.float64,
    onnx.TensorProto.INT64: torch.int64,
    onnx.TensorProto.INT32: torch.int32,
    onnx.TensorProto.BOOL: torch.bool,
}
ACROSS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
BACK = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
LARGEST = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MEAN = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def run(
    model: onnx.ModelProto, feeds: Mapping[str, Tensor], weights: Mapping[str, Tensor]
) -> list[Tensor]:
    """The outputs of a model for its inputs and its weights, by name."""
    values: dict[str, Tensor | None] = {**weights, **feeds, "": None}
    for node in model.graph.node:
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        attributes["outputs"] = len(node.output)
        result = OPERATORS[node.op_type](attributes, [values[name] for name in node.input])
        parts = result if isinstance(result, tuple | list) else (result,)
        values |= dict(zip(node.output, parts, strict=False))
    found = [values[each.name] for each in model.graph.output]
    return [each for each in found if each is not None]


def weights_of(model: onnx.ModelProto) -> dict[str, Tensor]:
    """The weights of a model by name."""
    return {
        each.name: torch.from_numpy(numpy_helper.to_array(each).copy())
        for each in model.graph.initializer
    }


def _split_pads(data: Tensor, attributes: Attributes, value: float) -> tuple[Tensor, list[int]]:
    """The data with what pads have more on one side, and the pads of both sides."""
    rank = data.dim() - 2
    pads = attributes.get("pads", [0] * 2 * rank)
    begin, end = pads[:rank], pads[rank:]
    if begin == end:
        return data, list(begin)
    sides = [side for pair in zip(reversed(begin), reversed(end), strict=True) for side in pair]
    return F.pad(data, sides, value=value), [0] * rank


def _convolution(attributes: Attributes, inputs: Inputs) -> Tensor:
    data, weight, *bias = inputs
    data, pads = _split_pads(data, attributes, 0.0)
    rank = data.dim() - 2
    return ACROSS[rank](
        data, weight, bias[0] if bias else None, attributes.get("strides", [1] * rank), pads,
        attributes.get("dilations", [1] * rank), attributes.get("group", 1),
    )  # fmt: skip


def _transposed_convolution(attributes: Attributes, inputs: Inputs) -> Tensor:
    data, weight, *bias = inputs
    rank = data.dim() - 2
    pads = attributes.get("pads", [0] * 2 * rank)
    assert pads[:rank] == pads[rank:]
    return BACK[rank](
        data, weight, bias[0] if bias else None, attributes.get("strides", [1] * rank),
        pads[:rank], attributes.get("output_padding", [0] * rank), attributes.get("group", 1),
        attributes.get("dilations", [1] * rank),
    )  # fmt: skip


def _largest(attributes: Attributes, inputs: Inputs) -> Tensor:
    data, pads = _split_pads(inputs[0], attributes, -torch.inf)
    kernel = attributes["kernel_shape"]
    strides = attributes.get("strides", [1] * len(kernel))
    ceiled = bool(attributes.get("ceil_mode", 0))
    return LARGEST[len(kernel)](data, kernel, strides, pads, ceil_mode=ceiled)


def _mean_of_window(attributes: Attributes, inputs: Inputs) -> Tensor:
    kernel = attributes["kernel_shape"]
    data, pads = _split_pads(inputs[0], attributes, 0.0)
    strides = attributes.get("strides", [1] * len(kernel))
    counted = bool(attributes.get("count_include_pad", 0))
    ceiled = bool(attributes.get("ceil_mode", 0))
    return MEAN[len(kernel)](data, kernel, strides, pads, ceiled, counted)


def _gemm(attributes: Attributes, inputs: Inputs) -> Tensor:
    left, right, *bias = inputs
    left = left.T if attributes.get("transA") else left
    right = right.T if attributes.get("transB") else right
    product = attributes.get("alpha", 1.0) * (left @ right)
    return product + attributes.get("beta", 1.0) * bias[0] if bias else product


def _normalised(attributes: Attributes, inputs: Inputs) -> Tensor:
    data, scale, shift, mean, variance = inputs
    slope = scale * torch.rsqrt(variance + attributes.get("epsilon", 1e-5))
    shape = (-1, *(1,) * (data.dim() - 2))
    return (data - mean.reshape(shape)) * slope.reshape(shape) + shift.reshape(shape)


def _normalised_images(attributes: Attributes, inputs: Inputs) -> Tensor:
    data, scale, shift = inputs
    return F.instance_norm(data, weight=scale, bias=shift, eps=attributes.get("epsilon", 1e-5))


def _normalised_layer(attributes: Attributes, inputs: Inputs) -> Tensor:
    data, scale, *shift = inputs
    axis = attributes.get("axis", -1) % data.dim()
    epsilon = attributes.get("epsilon", 1e-5)
    return F.layer_norm(data, data.shape[axis:], scale, shift[0] if shift else None, epsilon)


def _reshaped(_: Attributes, inputs: Inputs) -> Tensor:
    data, shape = inputs
    sizes = [data.shape[n] if size == 0 else size for n, size in enumerate(shape.tolist())]
    return data.reshape(sizes)


def _gathered(attributes: Attributes, inputs: Inputs) -> Tensor:
    data, indices = inputs
    axis = attributes.get("axis", 0) % data.dim()
    rows = data.index_select(axis, indices.reshape(-1))
    return rows.reshape(data.shape[:axis] + indices.shape + data.shape[axis + 1 :])


def _sliced(_: Attributes, inputs: Inputs) -> Tensor:
    data, starts, ends, *rest = inputs
    axes = rest[0].tolist() if rest else range(len(starts))
    steps = rest[1].tolist() if len(rest) > 1 else [1] * len(starts)
    parts = [slice(None)] * data.dim()
    for axis, start, end, step in zip(axes, starts.tolist(), ends.tolist(), steps, strict=True):
        assert step > 0
        parts[axis] = slice(start, end, step)
    return data[tuple(parts)]


def _split(attributes: Attributes, inputs: Inputs) -> Any:
    data, axis = inputs[0], attributes.get("axis", 0)
    if len(inputs) > 1 and inputs[1] is not None:
        return data.split(inputs[1].tolist(), axis)
    return data.split(-(-data.shape[axis] // attributes["outputs"]), axis)


def _resized(attributes: Attributes, inputs: Inputs) -> Tensor:
    data, _, scales, *sizes = inputs
    factors = tuple(scales[2:].tolist()) if not sizes else None
    size = tuple(sizes[0][2:].tolist()) if sizes else None
    mode = (
        attributes.get("mode", b"nearest"),
        attributes.get("coordinate_transformation_mode", b"half_pixel"),
    )
    names = {(b"nearest", b"asymmetric"): "nearest", (b"linear", b"half_pixel"): "bilinear"}
    corners = None if names[mode] == "nearest" else False
    return F.interpolate(data, size, factors, names[mode], align_corners=corners)


def _reduced(reduce: Callable[..., Tensor]) -> Callable[[Attributes, Inputs], Tensor]:
    def apply(attributes: Attributes, inputs: Inputs) -> Tensor:
        data, *rest = inputs
        axes = rest[0].tolist() if rest and rest[0] is not None else attributes.get("axes")
        wanted = tuple(range(data.dim())) if axes is None else tuple(axes)
        return reduce(data, wanted, keepdim=bool(attributes.get("keepdims", 1)))

    return apply


def _squeezed(attributes: Attributes, inputs: Inputs) -> Tensor:
    axes = _axes(attributes, inputs)
    data: Tensor = inputs[0]
    return data.squeeze() if axes is None else data.squeeze(tuple(axes))


def _unsqueezed(attributes: Attributes, inputs: Inputs) -> Tensor:
    data, axes = inputs[0], _axes(attributes, inputs) or []
    rank = data.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        data = data.unsqueeze(axis)
    return data


def _axes(attributes: Attributes, inputs: Inputs) -> list[int] | None:
    return inputs[1].tolist() if len(inputs) > 1 else attributes.get("axes")


def _expanded(_: Attributes, inputs: Inputs) -> Tensor:
    data, shape = inputs
    return data.expand(torch.broadcast_shapes(data.shape, tuple(shape.tolist())))


def _flat(attributes: Attributes, inputs: Inputs) -> Tensor:
    data, axis = inputs[0], attributes.get("axis", 1)
    return data.reshape(prod(data.shape[:axis]), -1)


def _depth_to_space(attributes: Attributes, inputs: Inputs) -> Tensor:
    data, size = inputs[0], attributes["blocksize"]
    batch, channels, height, width = data.shape
    kept = channels // size**2
    if attributes.get("mode", b"DCR") == b"CRD":
        parts = data.reshape(batch, kept, size, size, height, width).permute(0, 1, 4, 2, 5, 3)
    else:
        parts = data.reshape(batch, size, size, kept, height, width).permute(0, 3, 4, 1, 5, 2)
    return parts.reshape(batch, kept, height * size, width * size)


def _lstm(attributes: Attributes, inputs: Inputs) -> tuple[Tensor, Tensor, Tensor]:
    """Both directions from zeros; gates in the order input, output, forget, cell."""
    data, weight, recurrent, bias = inputs
    sides = [
        _lstm_of_one(
            data.flip(0) if backward else data,
            weight[side],
            recurrent[side],
            bias[side].chunk(2)[0] + bias[side].chunk(2)[1],
        )
        for side, backward in enumerate(
            {b"forward": (False,), b"reverse": (True,), b"bidirectional": (False, True)}[
                attributes.get("direction", b"forward")
            ]
        )
    ]
    backward = attributes.get("direction", b"forward") == b"reverse"
    rows = [side[0].flip(0) if place or backward else side[0] for place, side in enumerate(sides)]
    return (
        torch.stack(rows, 1),
        torch.stack([s[1] for s in sides]),
        torch.stack([s[2] for s in sides]),
    )


def _lstm_of_one(
    data: Tensor, weight: Tensor, recurrent: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    hidden = data.new_zeros(data.shape[1], recurrent.shape[1])
    cell, rows = hidden, []
    for each in data:
        entry, out, kept, new = (each @ weight.T + hidden @ recurrent.T + bias).chunk(4, 1)
        cell = kept.sigmoid() * cell + entry.sigmoid() * new.tanh()
        hidden = out.sigmoid() * cell.tanh()
        rows.append(hidden)
    return torch.stack(rows), hidden, cell


def _cast(attributes: Attributes, inputs: Inputs) -> Tensor:
    data: Tensor = inputs[0]
    return data.to(TYPES[attributes["to"]])


def _constant(attributes: Attributes, _: Inputs) -> Tensor:
    return torch.from_numpy(numpy_helper.to_array(attributes["value"]).copy())


def _clip(_: Attributes, inputs: Inputs) -> Tensor:
    data, *bounds = inputs
    low, high = (*bounds, None, None)[:2]
    return data.clamp(low, high)


def _plain(function: Callable[..., Any]) -> Callable[[Attributes, Inputs], Any]:
    return lambda _, inputs: function(*inputs)


OPERATORS: Mapping[str, Callable[[Attributes, Inputs], Any]] = {
    "Add": _plain(torch.add),
    "AveragePool": _mean_of_window,
    "BatchNormalization": _normalised,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": lambda attributes, inputs: torch.cat(list(inputs), attributes["axis"]),
    "Constant": _constant,
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "Cos": _plain(torch.cos),
    "DepthToSpace": _depth_to_space,
    "Div": _plain(torch.div),
    "Elu": lambda attributes, inputs: F.elu(inputs[0], attributes.get("alpha", 1.0)),
    "Equal": _plain(torch.eq),
    "Erf": _plain(torch.erf),
    "Exp": _plain(torch.exp),
    "Expand": _expanded,
    "Flatten": _flat,
    "Gather": _gathered,
    "Gemm": _gemm,
    "GlobalAveragePool": lambda _, inputs: inputs[0].mean(
        tuple(range(2, inputs[0].dim())), keepdim=True
    ),
    "Greater": _plain(torch.gt),
    "HardSigmoid": lambda attributes, inputs: (
        attributes.get("alpha", 0.2) * inputs[0] + attributes.get("beta", 0.5)
    ).clamp(0, 1),
    "HardSwish": _plain(F.hardswish),
    "Identity": _plain(lambda data: data),
    "InstanceNormalization": _normalised_images,
    "LSTM": _lstm,
    "LayerNormalization": _normalised_layer,
    "LeakyRelu": lambda attributes, inputs: F.leaky_relu(inputs[0], attributes.get("alpha", 0.01)),
    "Log": _plain(torch.log),
    "LogSoftmax": lambda attributes, inputs: inputs[0].log_softmax(attributes.get("axis", -1)),
    "MatMul": _plain(torch.matmul),
    "MaxPool": _largest,
    "Mul": _plain(torch.mul),
    "Neg": _plain(torch.neg),
    "Pow": _plain(torch.pow),
    "Reciprocal": _plain(torch.reciprocal),
    "ReduceMean": _reduced(torch.mean),
    "ReduceSum": _reduced(torch.sum),
    "Relu": _plain(torch.relu),
    "Reshape": _reshaped,
    "Resize": _resized,
    "Sigmoid": _plain(torch.sigmoid),
    "Sin": _plain(torch.sin),
    "Slice": _sliced,
    "Softmax": lambda attributes, inputs: inputs[0].softmax(attributes.get("axis", -1)),
    "Split": _split,
    "Sqrt": _plain(torch.sqrt),
    "Squeeze": _squeezed,
    "Sub": _plain(torch.sub),
    "Tanh": _plain(torch.tanh),
    "Transpose": lambda attributes, inputs: inputs[0].permute(
        attributes.get("perm", list(reversed(range(inputs[0].dim()))))
    ),
    "Unsqueeze": _unsqueezed,
    "Where": _plain(torch.where),
}
