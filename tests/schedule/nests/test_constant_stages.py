"""Stages that are computed when a program is planned."""

from __future__ import annotations

import numpy as np

from relay_tune.schedule.nests.constant_stages import MAXIMUM_GROWTH, fold_constant_stages
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Computed, compute, input_tensor

WEIGHTS = np.array([1, 2, 3, 4], np.float32)


def reading(copies: int) -> TensorProgram:
    """x + (w * w repeated so many times), and w + 1."""
    size = 4 * copies
    x, w = input_tensor("x", (size,), "float32"), input_tensor("w", (4,), "float32")
    square = compute("square", (4,), lambda i: w[i] * w[i])
    repeated = compute("repeated", (size,), lambda i: square[i % 4])
    result = compute("result", (size,), lambda i: x[i] + repeated[i])
    offset = compute("offset", (4,), lambda i: w[i] + 1.0)
    return TensorProgram((x,), (result, offset), ((w, WEIGHTS),))


def stages(program: TensorProgram) -> list[str]:
    found = tensors_in_order(program.outputs)
    return [tensor.name for tensor in found if isinstance(tensor, Computed)]


def test_stages_of_folded_stages_are_folded() -> None:
    folded = fold_constant_stages(reading(2))
    assert stages(folded) == ["result", "offset"]
    constants = {
        tensor.name: values.tolist() for tensor, values in folded.constant_arrays().items()
    }
    assert constants == {"w": [1, 2, 3, 4], "repeated": [1, 4, 9, 16] * 2}


def test_what_is_much_larger_than_its_constants_stays_a_stage() -> None:
    folded = fold_constant_stages(reading(MAXIMUM_GROWTH + 1))
    assert stages(folded) == ["repeated", "result", "offset"]
    assert [tensor.name for tensor, _ in folded.constants] == ["w", "square"]


def test_a_program_without_such_stages_is_itself() -> None:
    folded = fold_constant_stages(reading(1))
    assert fold_constant_stages(folded) is folded
