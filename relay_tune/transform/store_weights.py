"""Store weights of products and lookups in fewer bits.

before: nn.dense(%x, W)
after:  nn.dense(%x, qnn.dequantize_blocks(N, S, 0i8, block=32))     N: int8, S: float16

Kernels convert them where they read them (`relay_tune.op_rules.fold.stored`), so that a product of
one row takes as long as reading what is stored. Results change: no build does this by itself.

Weights stay as they are where something else reads them, too, in short rows and small matrices, and
where scales of float16 do not fit them. A table that a lookup and a product read is stored once.
"""

from __future__ import annotations

from typing import ClassVar

import ml_dtypes
import numpy as np

from relay_tune.arguments import whole_number
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, post_order, rewrite
from relay_tune.op.block_numbers import block_numbers
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.op_rules.quantize.weights import WeightMatrix, weight_matrix
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import map_functions, with_body

BITS = {"int8": 8, "int4": 4, "bfloat16": 16}

IN_BLOCKS = ("int8", "int4")
"""Types of weights that have a scale for each block."""

FLOATS = "float32"

ACTIVATIONS = (FLOATS, "int8")
"""What data may become that are multiplied by such weights."""

LEAST_WEIGHTS = 1 << 10
"""Smaller matrices take neither memory nor time."""


@dataclass(frozen=True)
class StoreWeights:
    """Stores matrices of weights of float32 in a narrower type.

    Fields:
        type: "int8" or "int4", with a float16 scale for each block, or "bfloat16".
        block: neighbours along the summed axis that share a scale.
        activations: "int8" lets products round their data to bytes, with a scale for each block of
            a row; "float32" keeps the digits of data. bfloat16 weights know the latter only.
    """

    name: ClassVar[str] = "weights"
    type: str = "int8"
    block: int = 32
    activations: str = FLOATS

    def __post_init__(self) -> None:
        if self.type not in BITS:
            raise InputError(
                f"Weights cannot be stored as {self.type!r}.",
                remedy=f"Use one of {', '.join(BITS)}.",
            )
        whole_number(self.block, "block", 2)
        if self.activations not in ACTIVATIONS or (
            self.activations != FLOATS and self.type not in IN_BLOCKS
        ):
            raise InputError(
                f"Activations cannot be {self.activations!r} beside weights of {self.type}.",
                remedy="Use float32, or int8 beside weights of int8 or int4.",
            )

    def __call__(self, module: Module) -> Module:
        """The module with weights in fewer bits."""
        return map_functions(module, lambda f: with_body(f, self._stored(f.body)))

    def _stored(self, body: Expr) -> Expr:
        others = _read_otherwise(body)
        known: dict[tuple[int, bool], Expr | None] = {}

        def visit(node: Expr) -> Expr:
            found = weight_matrix(node)
            if found is None or id(found.constant.data) in others:
                return node
            key = (id(found.constant.data), found.turned)
            if key not in known:
                known[key] = self._narrow(found)
            rows = known[key]
            return node if rows is None else found.reading(rows)

        return rewrite(body, visit, enter=lambda node: not is_opaque_function(node))

    def _narrow(self, found: WeightMatrix) -> Expr | None:
        """The rows of a matrix as a conversion of what is stored; None if they stay floats."""
        data = found.constant.data
        if data.dtype != np.float32 or data.size < LEAST_WEIGHTS:
            return None
        rows = np.ascontiguousarray(data.T) if found.turned else data
        if self.type == "bfloat16":
            narrow = constant_of(rows.astype(ml_dtypes.bfloat16))
            return call("cast", narrow, dtype="float32")
        bits = BITS[self.type]
        stored = block_numbers(rows, bits, self.block) if rows.shape[1] >= self.block else None
        if stored is None:
            return None
        numbers, scales, zero = map(constant_of, stored)
        return call(
            "qnn.dequantize_blocks",
            *(numbers, scales, zero),
            bits=bits,
            block=self.block,
            size=rows.shape[1],
            activations="" if self.activations == FLOATS else self.activations,
        )


def _read_otherwise(body: Expr) -> set[int]:
    """The arrays that something reads whose weights they are not."""
    nodes = list(post_order(body, enter=lambda node: not is_opaque_function(node)))
    matrices = {node: found for node in nodes if (found := weight_matrix(node)) is not None}
    moved = {
        child
        for node, found in matrices.items()
        for child in children(node)
        if isinstance(child, Call) and found.constant in child.arguments
    }
    return {
        id(child.data)
        for node in nodes
        if node not in moved
        for child in children(node)
        if isinstance(child, Constant) and not _is_only_weight(child, node, matrices.get(node))
    }


def _is_only_weight(child: Constant, node: Expr, found: WeightMatrix | None) -> bool:
    """Whether a call reads a constant as its matrix of weights, and not as data besides."""
    times = sum(each is child for each in children(node))
    return found is not None and found.constant is child and times == 1
