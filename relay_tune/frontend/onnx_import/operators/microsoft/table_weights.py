"""MatMulBnb4: products with weights of four bits that name one of sixteen numbers.

T. Dettmers et al., "QLoRA: Efficient Finetuning of Quantized LLMs" (NeurIPS 2023), appendix E, has
the numbers of NF4: quantiles of a normal distribution.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, weight
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Constant, Expr

_FP4_MAGNITUDES = (0.0, 0.005208333333, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)

FP4 = (*_FP4_MAGNITUDES, *(-each for each in _FP4_MAGNITUDES))
"""Numbers of a sign, two bits of an exponent, and one bit, divided by the largest of them."""

NF4 = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)

_TABLES = {0: FP4, 1: NF4}


def translate_matmul_bnb4(node: OnnxNode, build: Builder) -> Expr:
    """A W^T, or A W where transB is 0; W [N, K] is the largest of its block times a number."""
    table = _TABLES.get(node.integer("quant_type"))
    if table is None:
        raise ModelError(f"there is no quant_type {node.integer('quant_type')}.")
    rows, columns, block = node.integer("N"), node.integer("K"), node.integer("block_size")
    packed, largest = node.input(1), node.input(2)
    if not isinstance(packed, Constant) or not isinstance(largest, Constant):
        raise UnsupportedOperatorError("the inputs B and absmax have to be constants.")
    if rows < 1 or columns < 1 or block < 1:
        raise ModelError("attributes N, K and block_size must be 1 or more.")
    count = rows * columns
    if packed.data.size != -(-count // 2) or largest.data.size != -(-count // block):
        raise ModelError(f"the inputs B and absmax are not those of {rows} x {columns} weights.")
    numbers = packed.data.reshape(-1)
    pairs = np.stack([numbers >> 4, numbers & 15], axis=1).reshape(-1)[:count]
    values = np.array(table, np.float32)[pairs]
    values *= np.repeat(largest.data.reshape(-1).astype(np.float32), block)[:count]
    weights = values.reshape(rows, columns)
    if not node.flag("transB", 1):
        weights = np.ascontiguousarray(weights.T)
    data = node.input(0)
    return build.call("nn.dense", data, cast_to(build, weight(weights), dtype_of(data)))


TABLE_WEIGHTS: Mapping[str, Translator] = {"MatMulBnb4": translate_matmul_bnb4}
