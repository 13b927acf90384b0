"""Numbers of few bits with scales for blocks to ONNX.

As weights of a product they become MatMulNBits of com.microsoft, where it can say them: numbers
without a sign, in blocks of 16, 32, 64 .. Elsewhere they are simple operators on the bytes, which
runtimes compute when they load a model.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.frontend.onnx_export.call import OperatorCall, OperatorTranslator
from relay_tune.frontend.onnx_export.graph import Array
from relay_tune.op.block_quantization import packed_numbers, unpacked_numbers
from relay_tune.quick_dataclass import dataclass

MICROSOFT = "com.microsoft"
LEAST_BLOCK = 16

LEVELS: Mapping[str, Mapping[str, int]] = {"": {}, "int8": {"accuracy_level": 4}}
"""Accuracy level of MatMulNBits for data that may be rounded to a type."""


@dataclass(frozen=True, slots=True)
class BlockWeights:
    """Constants that a conversion reads, as MatMulNBits has them: numbers from 0 on.

    Attributes:
        numbers: [N, K].
        scales: [N, blocks], float32.
        zeros: [N, blocks], or one.
        bits: of a number.
        block: numbers with one scale.
        activations: the type that products may round their data to; empty where they may not.
    """

    numbers: Array
    scales: Array
    zeros: Array
    bits: int
    block: int
    activations: str = ""

    @property
    def inputs(self) -> tuple[Array, ...]:
        """Inputs of MatMulNBits beside its data; zero points in the middle are left out."""
        count, size = self.numbers.shape
        blocks = self.scales.shape[1]
        whole = np.zeros((count, blocks * self.block), np.uint8)
        whole[:, :size] = self.numbers
        data = packed_numbers(whole, self.bits).reshape(count, blocks, -1)
        if (self.zeros == 2 ** (self.bits - 1)).all():
            return data, self.scales.reshape(-1)
        zeros = np.broadcast_to(self.zeros, self.scales.shape)
        return data, self.scales.reshape(-1), packed_numbers(zeros, self.bits).reshape(-1)


def block_product(call: OperatorCall) -> str | None:
    """A product with rows of such weights as a node of its own; None where it is another one."""
    found = call.graph.block_weights.get(call.input(1))
    if not isinstance(found, BlockWeights) or call.type_of(0).dtype != "float32":
        return None
    if call.result_type.dtype != "float32" or call.rank() < 2:
        return None
    count, size = found.numbers.shape
    weights = call.graph.several_once(f"{call.input(1)} in blocks", lambda: found.inputs)
    return call.node(
        "MatMulNBits",
        *(call.input(0), *weights),
        domain=MICROSOFT,
        K=size,
        N=count,
        bits=found.bits,
        block_size=found.block,
        **LEVELS[found.activations],
    )


def _dequantize_blocks(call: OperatorCall) -> str:
    attributes, graph = call.attributes, call.graph
    digits = call.input(0)
    if attributes.bits < 8:
        digits = _digits(call, digits)
    size = attributes.size or call.shape(0)[-1] * 8 // attributes.bits
    zero = call.input(2) if call.rank(2) == 0 else _spread(call, call.input(2), size)
    wide = call.node("Sub", call.cast(digits, "float32"), call.cast(zero, "float32"))
    scale = call.cast(_spread(call, call.input(1), size), "float32")
    result = call.cast(call.node("Mul", wide, scale), attributes.out_dtype)
    weights = _weights(call)
    if weights is not None:
        graph.block_weights[result] = weights
    return result


def _digits(call: OperatorCall, data: str) -> str:
    """The numbers in bytes, along the last axis."""
    bits, (*outer, count), graph = call.attributes.bits, call.shape(0), call.graph
    shifts = graph.constant(np.arange(0, 8, bits, dtype=np.uint8), "shifts")
    column = call.node("Unsqueeze", data, graph.integers(-1))
    shifted = call.node("BitShift", column, shifts, direction="RIGHT")
    mask = graph.constant(np.uint8(2**bits - 1) * np.ones((), np.uint8), "mask")
    numbers = call.node("BitwiseAnd", shifted, mask)
    flat = call.node("Reshape", numbers, graph.integers(*outer, count * 8 // bits))
    size = call.attributes.size
    if not size or size == count * 8 // bits:
        return flat
    return call.node("Slice", flat, graph.integers(0), graph.integers(size), graph.integers(-1))


def _spread(call: OperatorCall, parameter: str, size: int) -> str:
    """The number of a block for each of its elements."""
    blocks = call.graph.integers(*(np.arange(size) // call.attributes.block).tolist())
    return call.node("Gather", parameter, blocks, axis=-1)


def _weights(call: OperatorCall) -> BlockWeights | None:
    values = [call.graph.value_of(call.input(index)) for index in range(3)]
    data, scales, zeros = values
    attributes = call.attributes
    bits, block = attributes.bits, attributes.block
    if data is None or scales is None or zeros is None or data.ndim != 2:
        return None
    if bits == 2 or block < LEAST_BLOCK or block & (block - 1) or zeros.dtype.kind not in "iu":
        return None
    numbers, points = unpacked_numbers(data, bits, attributes.size), zeros.astype(np.int64)
    if data.dtype == np.int8:
        numbers, points = (numbers.astype(np.int16) + 128).astype(np.uint8), points + 128
    if points.min() < 0 or points.max() >= 2**bits:
        return None
    wide = scales.astype(np.float32)
    points = points.astype(np.uint8)
    return BlockWeights(numbers, wide, points, bits, block, attributes.activations)


BLOCK_WEIGHTS: Mapping[str, OperatorTranslator] = {"qnn.dequantize_blocks": _dequantize_blocks}
