"""Statements with other axes in place of some of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay_tune.tensor.expression import Axis, Scalar
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
    LaneReduce,
    Let,
    Loop,
    Prefetch,
    Statement,
    Store,
    While,
)
from relay_tune.tensor.matrix_registers import (
    MatrixClear,
    MatrixLoad,
    MatrixMultiply,
    MatrixRegisters,
    MatrixStore,
)
from relay_tune.tensor.walk import substitute


def with_axes(root: Statement, axes: Mapping[Axis, Scalar]) -> Statement:
    """`root` with axes that it does not bind itself replaced by expressions."""
    match root:
        case Block():
            return Block(tuple(with_axes(part, axes) for part in root.statements))
        case Loop():
            begin, end = substitute(root.begin, axes), substitute(root.end, axes)
            return replace(root, begin=begin, end=end, body=with_axes(root.body, axes))
        case Let():
            return replace(
                root, value=substitute(root.value, axes), body=with_axes(root.body, axes)
            )
        case Allocate() | MatrixRegisters():
            return replace(root, body=with_axes(root.body, axes))
        case While():
            return While(substitute(root.condition, axes), with_axes(root.body, axes))
        case Branch():
            otherwise = None if root.otherwise is None else with_axes(root.otherwise, axes)
            condition = substitute(root.condition, axes)
            return Branch(condition, with_axes(root.then, axes), otherwise)
        case Store():
            indices = tuple(substitute(index, axes) for index in root.indices)
            return Store(root.buffer, indices, _value(root.value, axes))
        case Prefetch() | MatrixLoad() | MatrixStore():
            return replace(root, indices=tuple(substitute(n, axes) for n in root.indices))
        case MatrixClear() | MatrixMultiply():
            return root
    raise TypeError(f"not a statement: {type(root).__name__}")


def _value(value: Scalar, axes: Mapping[Axis, Scalar]) -> Scalar:
    if isinstance(value, LaneReduce):
        return replace(value, rows=tuple(substitute(row, axes) for row in value.rows))
    return substitute(value, axes)
