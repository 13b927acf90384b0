"""Stored numbers of few bits as kernels like to read them: with signs, and in words.

before: qnn.dequantize_blocks(N: uint8, S: float32, 8u8, bits=4)     a number is N >> 4 & 15, less 8
after:  qnn.dequantize_blocks(W: int32, S: float16, 0i8, bits=4)     a number is W << 24 >> 28

Eight numbers of four bits come with one load, in the lanes where they are used; bytes would have to
be spread over lanes first. With signs nothing is subtracted where zero points lie in the middle, as
most do. Scales become float16 where that has all of them exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from relay_tune.codegen.target import native_target
from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import rewrite
from relay_tune.machine.machine import Machine
from relay_tune.op.block_quantization import dequantize_blocks, signed_numbers
from relay_tune.op.elements import Array
from relay_tune.op_rules.matching import (
    attributes_of,
    is_opaque_function,
    operator_call,
    static_shape,
)
from relay_tune.op_rules.typed import constant_of, recall
from relay_tune.transform.module_pass import map_functions, with_body


@dataclass(frozen=True)
class NumberWords:
    """Gives constant numbers of few bits signs, and puts those into words that are looked up.

    Fields:
        machine: whose lookups tell which; without them spreading bytes over lanes costs one row
            less than two shifts do (AVX2: 93 us for 768 x 3072 numbers of 4 bits, 103 in words).
    """

    name: ClassVar[str] = "number_words"
    machine: Machine = field(default_factory=lambda: native_target().machine)

    def __call__(self, module: Module) -> Module:
        """The module with such numbers; what several calls read stays one constant."""
        made: dict[tuple[int, ...], list[Constant]] = {}

        def changed(node: Expr) -> Expr:
            call = operator_call(node, dequantize_blocks.name)
            if call is None:
                return node
            stored = [each.data for each in call.arguments if isinstance(each, Constant)]
            if len(stored) < len(call.arguments) or stored[0].dtype != np.uint8:
                return node
            bits = attributes_of(call).bits
            if self.machine.lookup_bits < bits < 8:
                return node
            key = (bits, *map(id, stored))
            if key not in made:
                found = _with_signs(bits, *stored)
                made[key] = [constant_of(each) for each in found]
            return recall(call, made[key], size=_size(call)) if made[key] else node

        return map_functions(
            module,
            lambda function: with_body(
                function,
                rewrite(function.body, changed, enter=lambda each: not is_opaque_function(each)),
            ),
        )


def _with_signs(bits: int, data: Array, scale: Array, zero: Array) -> list[Array]:
    """Data, scales and zero points; nothing where the zero points do not fit int8 then."""
    if zero.dtype.kind not in "iu":
        return []
    moved = zero.astype(np.int64) - 2 ** (bits - 1)
    if not ((moved >= -128) & (moved <= 127)).all():
        return []
    same = moved.flat[0] if moved.size and (moved == moved.flat[0]).all() else None
    points = moved if same is None else np.full((), same)
    return [signed_numbers(data, bits), _short(scale), points.astype(np.int8)]


def _short(scale: Array) -> Array:
    """Scales in float16 if all of them are the same there."""
    if scale.dtype != np.float32:
        return scale
    with np.errstate(over="ignore"):
        short = scale.astype(np.float16)
    return short if (short.astype(np.float32) == scale).all() else scale


def _size(call: Call) -> int:
    """How many numbers are read, which words may have more of than bytes."""
    shape = static_shape(call)
    assert shape is not None  # constants have known sizes
    return shape[-1]
