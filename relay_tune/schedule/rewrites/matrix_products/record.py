"""Products on matrix registers, as sums of products of bfloat16, as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy, Exactness, Rounding, is_allowed
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters, parameter
from relay_tune.schedule.rewrites.matrix_products.stages import (
    matrix_program,
    multiplications,
    ways_to_gather,
)
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.tensor.program import TensorProgram

LARGE_PRODUCTS = 32_000_000
"""Multiplications from which on a product is worth the rounding of two parts.

Those of small products would add up in networks of many: all of mobilenet_v2's with three products
of bfloat16 moved its outputs by 2e-4, those of resnet50 and bert_base, which are large, by 2e-5 and
4e-5.
"""


@dataclass(frozen=True, slots=True)
class Gathering(Parameters):
    """Parameters of bf16x3 and bf16x6.

    Attributes:
        gathered: whether what a row reads is copied to one place.
    """

    gathered: bool = parameter(among=(False, True), default=False)


def _is_worth_rounding(program: TensorProgram, accuracy: Accuracy) -> bool:
    """Whether two parts are offered, beside which three need no look."""
    return is_allowed(BF16X3.exactness, accuracy) and multiplications(program) >= LARGE_PRODUCTS


def _offers_two_parts(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    if _is_worth_rounding(program, accuracy):
        yield from map(Gathering, ways_to_gather(program))


def _offers_three_parts(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    if not _is_worth_rounding(program, accuracy):
        yield from map(Gathering, ways_to_gather(program))


def _two_parts(program: TensorProgram, parameters: Gathering) -> TensorProgram | None:
    return matrix_program(program, 2, parameters.gathered)


def _three_parts(program: TensorProgram, parameters: Gathering) -> TensorProgram | None:
    return matrix_program(program, 3, parameters.gathered)


def _on_matrix_registers(nest: Nest, _: Gathering) -> Nest:
    return replace(nest, pattern=BFLOAT16_PAIRS)


def _has_matrix_registers(machine: Machine) -> bool:
    return machine.intrinsic(BFLOAT16_PAIRS) is not None


BF16X3 = Algorithm(
    "bf16x3",
    _offers_two_parts,
    Gathering,
    exactness=Exactness(rounding=Rounding.MORE),
    rewritten=_two_parts,
    nest=_on_matrix_registers,
    needs=_has_matrix_registers,
)
"""Three products of two parts of each factor, which leave out 2^-17 of a product."""

BF16X6 = replace(
    BF16X3,
    name="bf16x6",
    offers=_offers_three_parts,
    exactness=Exactness(),
    rewritten=_three_parts,
)
"""Six products of three parts, as exact as float32."""
