"""ONNX operators that move elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from relay_tune.cli.peers.torch_module.call import Call, NotInTorch, Translation

OPEN_END = 2**31
"""Slices may end farther away than any axis is long."""


def reshape(call: Call) -> Tensor:
    """0 keeps an extent."""
    data = call.tensor(0)
    sizes = call.numbers(1) or []
    if not call.option("allowzero", 0):
        sizes = [size or data.shape[axis] for axis, size in enumerate(sizes)]
    return data.reshape(sizes)


def split(call: Call) -> Sequence[Tensor]:
    """Parts of given sizes, or so many of equal size."""
    data, axis = call.tensor(0), call.option("axis", 0)
    sizes = call.numbers_or_option(1, "split")
    parts: Sequence[Tensor] = data.split(sizes or -(-data.shape[axis] // call.outputs), axis)
    return parts


def slices(call: Call) -> Tensor:
    """Slices with positive steps."""
    data = call.tensor(0)
    starts = call.numbers_or_option(1, "starts") or []
    ends = call.numbers_or_option(2, "ends") or []
    axes = call.numbers_or_option(3, "axes") or list(range(len(starts)))
    steps = call.numbers(4) or [1] * len(starts)
    index = [slice(None)] * data.dim()
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0:
            raise NotInTorch("Slice with a negative step.")
        index[axis] = slice(start, min(end, OPEN_END), step)
    return data[tuple(index)]


def gather(call: Call) -> Tensor:
    """One index selects and drops the axis; an array takes its place."""
    data, axis = call.tensor(0), call.option("axis", 0)
    stored = call.constants[1]
    if stored is not None and stored.ndim == 0:
        return data.select(axis, int(stored))
    indices = call.tensor(1)
    rows = data.index_select(axis, indices.reshape(-1))
    position = axis % data.dim()
    return rows.reshape(*data.shape[:position], *indices.shape, *data.shape[position + 1 :])


def unsqueeze(call: Call) -> Tensor:
    """Axes of extent 1, in the order of the result."""
    data = call.tensor(0)
    axes = call.numbers_or_option(1, "axes") or []
    for axis in sorted(axis % (data.dim() + len(axes)) for axis in axes):
        data = data.unsqueeze(axis)
    return data


def squeeze(call: Call) -> Tensor:
    """Without axes of extent 1, the given ones or all."""
    axes = call.numbers_or_option(1, "axes")
    data = call.tensor(0)
    return data.squeeze() if axes is None else data.squeeze(tuple(axes))


def flatten(call: Call) -> Tensor:
    """A matrix: the axes before `axis`, and those from it on."""
    data = call.tensor(0)
    axis = call.option("axis", 1)
    rows = data.shape[:axis].numel() if axis else 1
    return data.reshape(rows, -1)


def pad(call: Call) -> Tensor:
    """ONNX lists all beginnings, then all ends; torch pairs of them, the last axis first."""
    pads = call.numbers_or_option(1, "pads") or []
    rank = len(pads) // 2
    pairs = [pads[axis + side] for axis in reversed(range(rank)) for side in (0, rank)]
    mode = call.option("mode", b"constant").decode()
    if mode == "constant":
        value = call.numbers(2)
        return functional.pad(call.tensor(0), pairs, value=value[0] if value else 0.0)
    while pairs[-2:] == [0, 0]:
        del pairs[-2:]
    return functional.pad(call.tensor(0), pairs, mode={"edge": "replicate"}.get(mode, mode))


def expand(call: Call) -> Tensor:
    """Repeated to a shape; 1 in it leaves an extent as it is."""
    data, sizes = call.tensor(0), call.numbers(1) or []
    return data.expand(torch.broadcast_shapes(data.shape, tuple(sizes)))


def depth_to_space(call: Call) -> Tensor:
    """Blocks of channels become squares of pixels."""
    data, block = call.tensor(0), call.option("blocksize")
    if call.option("mode", b"DCR") == b"CRD":
        return functional.pixel_shuffle(data, block)
    batch, channels, height, width = data.shape
    parts = data.reshape(batch, block, block, channels // block**2, height, width)
    moved = parts.permute(0, 3, 4, 1, 5, 2)
    return moved.reshape(batch, channels // block**2, height * block, width * block)


SHAPES: Mapping[str, Translation] = {
    "Concat": lambda call: torch.cat(
        [call.tensor(n) for n in range(len(call.inputs))], call.option("axis")
    ),
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "Flatten": flatten,
    "Gather": gather,
    "Pad": pad,
    "Reshape": reshape,
    "Slice": slices,
    "Split": split,
    "Squeeze": squeeze,
    "Transpose": lambda call: call.tensor(0).permute(call.option("perm")),
    "Unsqueeze": unsqueeze,
}
