"""ONNX operators that torch has as layers: convolutions, pools, products, norms, reductions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from relay_tune.cli.peers.torch_module.call import Call, NotInTorch, Translation


def own_padding(call: Call, data: Tensor, value: float) -> tuple[Tensor, list[int]]:
    """Split padding into that of torch's layers and, where the sides differ, padded data."""
    if call.option("auto_pad", b"NOTSET") != b"NOTSET":
        raise NotInTorch(f"{call.kind} with automatic padding.")
    rank = data.dim() - 2
    pads: Sequence[int] = call.option("pads", [0] * (2 * rank))
    begins, ends = list(pads[:rank]), list(pads[rank:])
    if begins == ends:
        return data, begins
    pairs = [side[axis] for axis in reversed(range(rank)) for side in (begins, ends)]
    return functional.pad(data, pairs, value=value), [0] * rank


def by_rank(call: Call, functions: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """The function for one, two or three dimensions of space."""
    dimensions: int = call.tensor(0).dim()
    return functions[dimensions - 3]


def convolution(call: Call) -> Tensor:
    """A convolution, grouped or not."""
    data, padding = own_padding(call, call.tensor(0), 0.0)
    function = by_rank(call, (functional.conv1d, functional.conv2d, functional.conv3d))
    ones = [1] * len(padding)
    strides, dilations = call.option("strides", ones), call.option("dilations", ones)
    groups = call.option("group", 1)
    result: Tensor = function(
        data, call.tensor(1), call.optional(2), strides, padding, dilations, groups
    )
    return result


def transposed_convolution(call: Call) -> Tensor:
    """A transposed convolution; what differs between the sides is cut off."""
    data = call.tensor(0)
    rank = data.dim() - 2
    ones, zeros = [1] * rank, [0] * rank
    pads = call.option("pads", [0] * (2 * rank))
    if pads[:rank] != pads[rank:] or "output_shape" in call.attributes:
        raise NotInTorch("ConvTranspose with pads that differ between the sides.")
    function = by_rank(
        call,
        (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d),
    )
    result: Tensor = function(
        data, call.tensor(1), call.optional(2), call.option("strides", ones), pads[:rank],
        call.option("output_padding", zeros), call.option("group", 1),
        call.option("dilations", ones),
    )  # fmt: skip
    return result


def max_pool(call: Call) -> Tensor:
    """Maxima; padding never wins."""
    data, padding = own_padding(call, call.tensor(0), float("-inf"))
    function = by_rank(call, (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d))
    kernel = call.option("kernel_shape")
    ones = [1] * len(kernel)
    result: Tensor = function(
        data, kernel, call.option("strides", ones), padding, call.option("dilations", ones),
        bool(call.option("ceil_mode", 0)),
    )  # fmt: skip
    return result


def average_pool(call: Call) -> Tensor:
    """Means, of the padding as well or not."""
    rank = call.tensor(0).dim() - 2
    pads = call.option("pads", [0] * (2 * rank))
    if pads[:rank] != pads[rank:]:
        raise NotInTorch("AveragePool with pads that differ between the sides.")
    function = by_rank(call, (functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d))
    result: Tensor = function(
        call.tensor(0), call.option("kernel_shape"), call.option("strides", [1] * rank),
        pads[:rank], bool(call.option("ceil_mode", 0)), bool(call.option("count_include_pad", 0)),
    )  # fmt: skip
    return result


def global_pool(reduce: Callable[..., Tensor]) -> Translation:
    """A reduction of all dimensions of space, which are kept with extent 1."""
    return lambda call: reduce(
        call.tensor(0), dim=tuple(range(2, call.tensor(0).dim())), keepdim=True
    )


def batch_norm(call: Call) -> Tensor:
    """Batch normalisation with stored statistics."""
    scale, shift, mean, variance = (call.tensor(n) for n in (1, 2, 3, 4))
    epsilon = call.option("epsilon", 1e-5)
    return functional.batch_norm(call.tensor(0), mean, variance, scale, shift, eps=epsilon)


def instance_norm(call: Call) -> Tensor:
    """Normalisation of every channel of every example."""
    epsilon = call.option("epsilon", 1e-5)
    scale, shift = call.tensor(1), call.tensor(2)
    return functional.instance_norm(call.tensor(0), weight=scale, bias=shift, eps=epsilon)


def layer_norm(call: Call) -> Tensor:
    """Normalisation over the axes from `axis` on."""
    data = call.tensor(0)
    shape = data.shape[call.option("axis", -1) % data.dim() :]
    epsilon = call.option("epsilon", 1e-5)
    return functional.layer_norm(data, shape, call.tensor(1), call.optional(2), epsilon)


def gemm(call: Call) -> Tensor:
    """alpha A B + beta C, each factor transposed or not."""
    left, right = call.tensor(0), call.tensor(1)
    left = left.t() if call.option("transA", 0) else left
    third = call.optional(2)
    if call.option("alpha", 1.0) != 1.0 or call.option("beta", 1.0) != 1.0:
        raise NotInTorch("Gemm with factors.")
    if call.option("transB", 0):
        return functional.linear(left, right, third)
    return left @ right if third is None else torch.addmm(third, left, right)


def resize(call: Call) -> Tensor:
    """Nearest or linear, as torch exports its own interpolation."""
    data = call.tensor(0)
    sizes = call.numbers(3)
    if sizes is None:
        pairs = zip(data.shape, call.numbers(2) or [], strict=True)
        sizes = [int(extent * scale) for extent, scale in pairs]
    mode = call.option("mode", b"nearest").decode()
    coordinates = call.option("coordinate_transformation_mode", b"half_pixel").decode()
    if mode == "nearest" and coordinates == "asymmetric":
        return functional.interpolate(data, size=sizes[2:], mode="nearest")
    if mode == "linear" and coordinates in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        corners = coordinates == "align_corners"
        return functional.interpolate(data, size=sizes[2:], mode="bilinear", align_corners=corners)
    raise NotInTorch(f"Resize, mode {mode}, coordinates {coordinates}.")


def einsum(call: Call) -> Tensor:
    """Sums of products by their letters."""
    terms = [call.tensor(n) for n in range(len(call.inputs))]
    result: Tensor = torch.einsum(call.option("equation").decode(), *terms)
    return result


def reduction(function: Callable[..., Tensor]) -> Translation:
    """A reduction over some axes, or over all."""

    def translate(call: Call) -> Tensor:
        data = call.tensor(0)
        axes = call.numbers_or_option(1, "axes") or list(range(data.dim()))
        return function(data, dim=tuple(axes), keepdim=bool(call.option("keepdims", 1)))

    return translate


LAYERS: Mapping[str, Translation] = {
    "AveragePool": average_pool,
    "BatchNormalization": batch_norm,
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "Einsum": einsum,
    "Gemm": gemm,
    "GlobalAveragePool": global_pool(torch.mean),
    "GlobalMaxPool": global_pool(torch.amax),
    "InstanceNormalization": instance_norm,
    "LayerNormalization": layer_norm,
    "LogSoftmax": lambda call: functional.log_softmax(call.tensor(0), call.option("axis", -1)),
    "MatMul": lambda call: call.tensor(0) @ call.tensor(1),
    "MaxPool": max_pool,
    "ReduceL2": reduction(torch.linalg.vector_norm),
    "ReduceMax": reduction(torch.amax),
    "ReduceMean": reduction(torch.mean),
    "ReduceMin": reduction(torch.amin),
    "ReduceSum": reduction(torch.sum),
    "Resize": resize,
    "Softmax": lambda call: functional.softmax(call.tensor(0), call.option("axis", -1)),
}
