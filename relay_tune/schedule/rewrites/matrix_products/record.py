"""Products on matrix registers, of bytes and as sums of products of bfloat16, as records."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace

from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import BFLOAT16_PAIRS, BYTE_MATRICES, TilePattern
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy, Exactness, Rounding, is_allowed
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters, parameter
from relay_tune.schedule.rewrites.carried_parts import carried_parts, grouped_parts
from relay_tune.schedule.rewrites.matrix_products.blocks import block_rows, in_blocks
from relay_tune.schedule.rewrites.matrix_products.form import (
    Form,
    split_floats_form,
    stored_form,
)
from relay_tune.schedule.rewrites.matrix_products.long_sums import (
    LongSums,
    long_sums_program,
    offered_long_sums,
)
from relay_tune.schedule.rewrites.matrix_products.match import match_matrix_product
from relay_tune.schedule.rewrites.matrix_products.stages import (
    matrix_program,
    multiplications,
    ways_to_gather,
)
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram

LARGE_PRODUCTS = 32_000_000
"""Multiplications from which on a product is worth the rounding of two parts.

Those of small products would add up in networks of many: all of mobilenet_v2's with three products
of bfloat16 moved its outputs by 2e-4, those of resnet50 and bert_base, which are large, by 2e-5 and
4e-5.
"""


@dataclass(frozen=True, slots=True)
class Gathering(Parameters):
    """Parameters of products on matrix registers.

    Attributes:
        gathered: whether what a row reads is copied to one buffer.
        block: the rows that are split and multiplied before the next ones are; None: all.
    """

    gathered: bool = parameter(among=(False, True), default=False, orders_sums=False)
    block: int | None = parameter(among=range(1, 10_000), default=None, orders_sums=False)


def _is_worth_rounding(program: TensorProgram, accuracy: Accuracy) -> bool:
    """Whether two parts are offered, beside which three need no look."""
    allowed = is_allowed(BF16X3.exactness, accuracy)
    return allowed and multiplications(program, TWO_PARTS) >= LARGE_PRODUCTS


def _always(program: TensorProgram, accuracy: Accuracy) -> bool:
    return True


def _is_not_worth_rounding(program: TensorProgram, accuracy: Accuracy) -> bool:
    return not _is_worth_rounding(program, accuracy)


def _of_form(
    name: str,
    form: Form,
    *,
    rounding: Rounding = Rounding.OF_SUMS,
    offered: Callable[[TensorProgram, Accuracy], bool] = _always,
) -> Algorithm:
    """Products in a form, where they are offered."""

    def offers(
        program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
    ) -> Iterator[Parameters]:
        if offered(program, accuracy):
            for gathers in ways_to_gather(program, form):
                yield Gathering(gathers)
                for rows in block_rows(program, form, gathers):
                    yield Gathering(gathers, rows)

    def rewritten(program: TensorProgram, parameters: Gathering) -> TensorProgram | None:
        beside = parameters.block is not None
        return matrix_program(program, form, parameters.gathered, beside=beside)

    def on_matrix_registers(nest: Nest, _: Gathering) -> Nest:
        return replace(nest, pattern=form.pattern)

    def has_matrix_registers(machine: Machine) -> bool:
        return machine.intrinsic(form.pattern) is not None

    def rounds(stage: Tensor, constants: Container[Tensor]) -> bool:
        return match_matrix_product(stage, constants, form) is not None

    def grouped(
        nests: Sequence[Step], outputs: Sequence[Tensor], parameters: Gathering
    ) -> Sequence[Step | RowBlocks]:
        return nests if parameters.block is None else in_blocks(nests, outputs, parameters.block)

    return Algorithm(
        name,
        offers,
        Gathering,
        exactness=Exactness(rounding=rounding),
        rewritten=rewritten,
        nest=on_matrix_registers,
        grouped=grouped,
        needs=has_matrix_registers,
        rounds=rounds if rounding is Rounding.OF_FACTORS else None,
    )


ONE_PART, TWO_PARTS, THREE_PARTS = map(split_floats_form, (1, 2, 3))

BF16X1 = _of_form("bf16x1", ONE_PART, rounding=Rounding.OF_FACTORS)
"""Products of float32, each factor rounded to bfloat16 (to nearest, ties to even)."""

BF16_MATRICES = _of_form("matrices_bf16", stored_form(BFLOAT16_PAIRS), rounding=Rounding.MORE)
"""Products of what is bfloat16 already: each is exact. What is subnormal is zero."""

BF16X3 = _of_form("bf16x3", TWO_PARTS, rounding=Rounding.MORE, offered=_is_worth_rounding)
"""Three products of two parts of each factor, which leave out 2^-17 of a product."""

BF16X6 = _of_form("bf16x6", THREE_PARTS, offered=_is_not_worth_rounding)
"""Six products of three parts, as exact as float32."""


def _offered_long_sums(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[LongSums]:
    yield from offered_long_sums(program, TWO_PARTS, LARGE_PRODUCTS)


def _long_sums_program(program: TensorProgram, parameters: LongSums) -> TensorProgram | None:
    return long_sums_program(program, parameters, TWO_PARTS)


def _carried(nest: Nest, parameters: LongSums) -> Nest:
    return carried_parts(replace(nest, pattern=TWO_PARTS.pattern), parameters)


BF16X3_SUMS = replace(
    BF16X3,
    name="bf16x3_sums",
    offers=_offered_long_sums,
    parameters=LongSums,
    rewritten=_long_sums_program,
    nest=_carried,
    grouped=grouped_parts,
)
"""The same of long sums of arguments, whose parts of both factors are stored part by part."""


def _of_bytes(pattern: TilePattern) -> Algorithm:
    """Exact products of bytes; the name has their signs."""
    letters = "".join("u8" if each == "uint8" else "s8" for each in (pattern.left, pattern.right))
    return _of_form(f"matrices_{letters}", stored_form(pattern))


BYTE_PRODUCTS = tuple(map(_of_bytes, BYTE_MATRICES.values()))
"""Products of bytes, whose data are read where they lie, if rows of them fill registers."""
