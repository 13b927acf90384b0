"""Operators of several steps in float16 and bfloat16: float32 in between.

Statistics of short floats overflow (300 squared is infinite in float16) and lose digits where each
step is rounded, so that such operators compute in float32 and round once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from relay_tune.frontend.onnx_import.build import Builder, dtype_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.ir.expr import Expr
from relay_tune.op.elements import SHORT_FLOATS, wide_dtype

OneOutput = Callable[[OnnxNode, Builder], Expr]


def in_wide(translate: OneOutput) -> OneOutput:
    """`translate` with short floats widened before it, and its result narrowed after it."""

    def widened(node: OnnxNode, build: Builder) -> Expr:
        dtype = dtype_of(node.input(0))
        if dtype not in SHORT_FLOATS:
            return translate(node, build)
        inputs = widened_inputs(build, node.inputs)
        return build.call("cast", translate(replace(node, inputs=inputs), build), dtype=dtype)

    return widened


def widened_inputs(build: Builder, inputs: Sequence[Expr | None]) -> tuple[Expr | None, ...]:
    """The inputs in the types that their elements are calculated in; None stays."""
    return tuple(None if each is None else widened_input(build, each) for each in inputs)


def widened_input(build: Builder, data: Expr) -> Expr:
    """`data` in the type that its elements are calculated in."""
    dtype = dtype_of(data)
    return build.call("cast", data, dtype=wide_dtype(dtype)) if dtype in SHORT_FLOATS else data
