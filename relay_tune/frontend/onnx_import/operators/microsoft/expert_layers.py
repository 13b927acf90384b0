"""Layers of experts: a matrix and a bias for each expert, as floats or as integers of few bits."""

from __future__ import annotations

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    dtype_of,
    rank_of,
    static_shape,
    weight,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.microsoft.block_weights import (
    activations_of_level,
    unpacked,
    zero_points,
)
from relay_tune.frontend.onnx_import.operators.microsoft.fused import sum_of
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.ir.expr import Constant, Expr
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True)
class FewBits:
    """How the weights of a layer are stored as integers.

    Attributes:
        bits: of a number.
        block: neighbours of a row that share a scale; 0: all of them.
        scales: [experts, rows] or, with blocks, [experts, rows, blocks].
        zeros: the numbers that stand for 0, packed as the weights are; None: those in the middle.
        activations: see `qnn.dequantize_blocks`.
    """

    bits: int
    block: int
    scales: Expr
    zeros: Expr | None
    activations: str


@dataclass(frozen=True)
class ExpertLayer:
    """Weights [experts, rows, columns] and biases [experts, rows]; a row gives one output."""

    weights: Expr
    bias: Expr | None
    stored: FewBits | None = None

    def outputs(self, build: Builder, data: Expr, expert: int) -> Expr:
        """The outputs of one expert for data [n, columns]."""
        weights = _of_expert(build, self.weights, expert)
        if self.stored is not None:
            weights = _widened(build, weights, self.stored, expert, data)
        bias = None if self.bias is None else _of_expert(build, self.bias, expert)
        return sum_of(build, build.call("nn.dense", data, weights), bias)


def float_layer(node: OnnxNode, index: int) -> ExpertLayer | None:
    """The layer whose weights are the input at `index`, with its bias behind them."""
    weights = node.optional(index)
    if weights is None:
        return None
    _check_rank(weights, 3)
    return ExpertLayer(weights, node.optional(index + 1))


def quantized_layer(node: OnnxNode, index: int, zeros: int, name: str) -> ExpertLayer | None:
    """The layer whose weights, scales and bias are the inputs from `index` on.

    Args:
        node: the node.
        index: of the weights among the inputs.
        zeros: the index of their zero points.
        name: the prefix of the layer's attributes.
    """
    weights = node.optional(index)
    if weights is None:
        return None
    _check_rank(weights, 3)
    bits = node.integer(f"{name}_expert_weight_bits", node.integer("expert_weight_bits", 4))
    block = max(node.integer("block_size", 0), 0)
    if bits not in (2, 4, 8):
        raise UnsupportedOperatorError(f"experts with weights of {bits} bits are not supported.")
    scales = node.input(index + 1)
    _check_rank(scales, 3 if block else 2)
    activations = activations_of_level(node)
    stored = FewBits(bits, block, scales, node.optional(zeros), activations)
    return ExpertLayer(weights, node.optional(index + 2), stored)


def _check_rank(data: Expr, rank: int) -> None:
    if rank_of(data) != rank:
        raise ModelError(f"weights or scales of experts have {rank_of(data)} axes, not {rank}.")


def _of_expert(build: Builder, data: Expr, expert: int) -> Expr:
    """What belongs to one expert, along the first axis."""
    if isinstance(data, Constant):
        return weight(data.data[expert])
    return build.call("take", data, build.constant(expert), axis=0, mode="clip")


def _widened(build: Builder, numbers: Expr, stored: FewBits, expert: int, data: Expr) -> Expr:
    """Weights of one expert as floats of the type of the data."""
    rows, width = static_shape(numbers)
    size = width * 8 // stored.bits
    block = stored.block or size
    blocks = -(-size // block)
    scales = build.call(
        "reshape", _of_expert(build, stored.scales, expert), newshape=(rows, blocks)
    )
    return build.deferred(
        "qnn.dequantize_blocks",
        numbers,
        scales,
        _zeros(build, stored, expert, (rows, blocks)),
        bits=stored.bits,
        block=block,
        size=size,
        out_dtype=dtype_of(data),
        activations=stored.activations,
    )


def _zeros(build: Builder, stored: FewBits, expert: int, shape: tuple[int, int]) -> Expr:
    """Zero points [rows, blocks]: packed along the blocks, or along the rows without blocks."""
    given = None if stored.zeros is None else _of_expert(build, stored.zeros, expert)
    if given is None or stored.block:
        return zero_points(build, given, shape, stored.bits)
    of_rows = part(build, unpacked(build, given, stored.bits), 0, 0, shape[0])
    return build.call("reshape", of_rows, newshape=shape)
