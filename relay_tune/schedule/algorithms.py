"""Ways to compute a program other than as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from relay_tune.errors import InputError
from relay_tune.op.lower import TensorProgram
from relay_tune.schedule.constant_stages import fold_constant_stages
from relay_tune.schedule.row_plans import rows_of
from relay_tune.schedule.schedule import DIRECT
from relay_tune.schedule.winograd import winograd_program
from relay_tune.schedule.winograd_match import match_convolution
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Tensor

WINOGRAD: Mapping[str, int] = MappingProxyType({"winograd2": 2, "winograd4": 4})
"""Winograd's filtering, by the extent of the output tiles."""


def algorithms(program: TensorProgram) -> tuple[str, ...]:
    """The algorithms that apply to a program with folded constants, the direct one first."""
    known: dict[Tensor, np.ndarray] = dict(program.constants)
    stages = tensors_in_order(program.outputs)
    applies = any(match_convolution(stage, known) is not None for stage in stages)
    return (DIRECT, *WINOGRAD) if applies else (DIRECT,)


def prepared_program(program: TensorProgram, algorithm: str) -> TensorProgram:
    """The program that is planned: constants folded, its stages those of an algorithm.

    Programs of one structure give the same constants in the same order, whatever their values.
    Raises InputError if there is no such algorithm, or none for this program.
    """
    folded = fold_constant_stages(program)
    if algorithm == DIRECT or rows_of(algorithm) is not None:
        return folded
    if algorithm not in WINOGRAD:
        raise InputError(
            f"There is no algorithm {algorithm!r}.",
            notes=(f"Known: {DIRECT}, {', '.join(WINOGRAD)}, rows1 and the like.",),
        )
    changed = winograd_program(folded, WINOGRAD[algorithm])
    if changed is None:
        raise InputError(f"The algorithm {algorithm} does not apply to this program.")
    return changed
