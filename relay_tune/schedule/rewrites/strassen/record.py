"""Strassen's algorithm as a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay_tune.schedule.accuracy import Accuracy, Exactness, Mixing, Rounding
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters
from relay_tune.schedule.rewrites.strassen.cost import outgrown_cycles
from relay_tune.schedule.rewrites.strassen.match import match_halves
from relay_tune.schedule.rewrites.strassen.stages import strassen_program
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.tensor.deferred_array import ConstantData
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram


def _offers(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    known = dict[Tensor, ConstantData](program.constants)
    if any(match_halves(stage, known) is not None for stage in tensors_in_order(program.outputs)):
        yield Parameters()


def _rewritten(program: TensorProgram, parameters: Parameters) -> TensorProgram | None:
    return strassen_program(program)


STRASSEN = Algorithm(
    "strassen",
    _offers,
    exactness=Exactness(Mixing.SAMPLES, Rounding.MORE),
    rewritten=_rewritten,
    fixed_cycles=outgrown_cycles,
)
"""Large products with seven multiplications of halves instead of eight."""
