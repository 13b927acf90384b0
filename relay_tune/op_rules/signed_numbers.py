"""Which calls read stored numbers that kernels would rather read with signs, and what these are.

qnn.dequantize_blocks(N: uint8, S: float32, 8u8, bits=4)     a number is N >> 4 & 15, less 8
qnn.dequantize_blocks(W: int32, S: float16, 0i8, bits=4)     a number is W << 24 >> 28
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from relay_tune.ir.expr import Call, Constant
from relay_tune.op.block_quantization import signed_numbers
from relay_tune.op.elements import Array
from relay_tune.op_rules.matching import attributes_of, static_shape
from relay_tune.op_rules.table import OperatorTable
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class StoredNumbers:
    """Numbers that a call reads from constants.

    Attributes:
        bits: of a number.
        constants: what is stored.
        attributes: that change where the numbers have signs.
        rounds_data: whether products may round to bytes what they multiply by the numbers.
    """

    bits: int
    constants: Sequence[Array]
    attributes: dict[str, Any]
    rounds_data: bool = False

    @property
    def are_signed(self) -> bool:
        """Whether they have signs already, as bytes."""
        return bool(self.constants[0].dtype == np.int8)

    def with_signs(self, *, in_words: bool = False) -> list[Array]:
        """The constants with signs; nothing where the zero points do not fit int8 then.

        Numbers of 8 bits are bytes, or in words as shorter ones are.
        """
        data, scale, zero = self.constants
        if zero.dtype.kind not in "iu":
            return []
        middle = 2 ** (self.bits - 1)
        moved = zero.astype(np.int64) - (0 if self.are_signed else middle)
        if self.are_signed:
            data = data.view(np.uint8) ^ np.uint8(middle)
        if not ((moved >= -128) & (moved <= 127)).all():
            return []
        same = moved.flat[0] if moved.size and (moved == moved.flat[0]).all() else None
        points = moved if same is None else np.full((), same)
        numbers = signed_numbers(data, self.bits, in_words=in_words)
        return [numbers, _short(scale), points.astype(np.int8)]


NumbersRule: TypeAlias = Callable[[Call], StoredNumbers | None]
"""rule(call) -> the numbers that it reads; None where they are no constants, or in words."""


def _of_blocks(call: Call) -> StoredNumbers | None:
    stored = [each.data for each in call.arguments if isinstance(each, Constant)]
    shape = static_shape(call)
    if len(stored) < len(call.arguments) or stored[0].dtype.itemsize != 1 or shape is None:
        return None
    # Words may hold more numbers than are read.
    attributes = attributes_of(call)
    rounds = attributes.activations == "int8"
    return StoredNumbers(attributes.bits, stored, {"size": shape[-1]}, rounds)


def _short(scale: Array) -> Array:
    """Scales in float16 if all of them are the same there."""
    if scale.dtype != np.float32:
        return scale
    with np.errstate(over="ignore"):
        short = scale.astype(np.float16)
    return short if (short.astype(np.float32) == scale).all() else scale


NUMBERS: OperatorTable[NumbersRule] = OperatorTable({"qnn.dequantize_blocks": _of_blocks})
