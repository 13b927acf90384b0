"""Stages that depend on constants alone, computed once when the program is planned.

before:  phases[r, t] = select(.., weight[2 * t + r], 0);  y[..] = sum(x[..] * phases[..])
after:   y[..] = sum(x[..] * constant[..])
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from relay_tune.op.lower import TensorProgram
from relay_tune.tensor.dependencies import dependencies, tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Load, Scalar, Tensor
from relay_tune.tensor.tensor import Computed, Input, input_tensor
from relay_tune.tensor.walk import transform

MAXIMUM_GROWTH = 4
"""A stage is not computed ahead if it is so many times larger than the constants it reads."""


def fold_constant_stages(program: TensorProgram) -> TensorProgram:
    """The program with constants in place of stages that read nothing else."""
    known: dict[Tensor, np.ndarray] = dict(program.constants)
    folded: dict[Tensor, Tensor] = {}
    for tensor in tensors_in_order(program.outputs):
        if not isinstance(tensor, Computed):
            continue
        read = dependencies(tensor)
        if tensor not in program.outputs and read and all(source in known for source in read):
            if prod(tensor.shape) > MAXIMUM_GROWTH * sum(prod(source.shape) for source in read):
                continue
            feeds = {source: known[source] for source in read if isinstance(source, Input)}
            constant = input_tensor(tensor.name, tensor.shape, tensor.dtype)
            (known[constant],) = evaluate([_renamed(tensor, folded)], _feeds(feeds, folded, known))
            known[tensor] = known[constant]
            folded[tensor] = constant
    if not folded:
        return program
    return _with_constants(program, folded, known)


def _feeds(
    feeds: dict[Input, np.ndarray], folded: dict[Tensor, Tensor], known: dict[Tensor, np.ndarray]
) -> dict[Input, np.ndarray]:
    """Arrays for original constants and for those that stand in for stages."""
    stand_ins = {c: known[c] for c in folded.values() if isinstance(c, Input)}
    return {**feeds, **stand_ins}


def _renamed(tensor: Computed, folded: dict[Tensor, Tensor]) -> Computed:
    """The stage with its loads of folded stages going to their constants."""

    def visit(node: Scalar) -> Scalar:
        if isinstance(node, Load) and node.tensor in folded:
            return replace(node, tensor=folded[node.tensor])
        return node

    return replace(tensor, body=transform(tensor.body, visit))


def _with_constants(
    program: TensorProgram, folded: dict[Tensor, Tensor], known: dict[Tensor, np.ndarray]
) -> TensorProgram:
    """Rebuild the stages that read folded ones."""
    rebuilt: dict[Tensor, Tensor] = dict(folded)
    for tensor in tensors_in_order(program.outputs):
        if isinstance(tensor, Computed) and tensor not in folded:
            changed = _renamed(tensor, rebuilt)
            if changed.body is not tensor.body:
                rebuilt[tensor] = changed
    outputs = tuple(rebuilt.get(tensor, tensor) for tensor in program.outputs)
    constants = [*program.constants]
    constants += [(c, known[c]) for c in folded.values() if isinstance(c, Input)]
    used = set(tensors_in_order(outputs))
    return TensorProgram(
        program.inputs, outputs, tuple((t, data) for t, data in constants if t in used)
    )
