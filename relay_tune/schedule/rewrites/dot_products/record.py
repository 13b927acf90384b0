"""Sums of products of narrow elements by dot products of words, an algorithm a pattern."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from relay_tune.machine.pattern import BFLOAT16_WORDS, INTEGER_PATTERNS, WordPattern
from relay_tune.schedule.accuracy import Accuracy, Exactness, Rounding
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters
from relay_tune.schedule.rewrites.dot_products.match import match_dot_products
from relay_tune.schedule.rewrites.dot_products.stages import has_dot_products, word_program
from relay_tune.schedule.rewrites.needs import multiplies
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram


def words(
    pattern: WordPattern, *, name: str = "", rounding: Rounding = Rounding.OF_SUMS
) -> Algorithm:
    """The algorithm that brings sums to a pattern, called as that or by a name of its own."""
    rounds = rounding is Rounding.OF_FACTORS

    def offers(
        program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
    ) -> Iterator[Parameters]:
        if has_dot_products(program, pattern, rounds=rounds):
            yield Parameters()

    def rewritten(program: TensorProgram, parameters: Parameters) -> TensorProgram | None:
        return word_program(program, pattern, rounds=rounds)

    def of_rounded(stage: Tensor, constants: Container[Tensor]) -> bool:
        return match_dot_products(stage, pattern, rounds=True) is not None

    return Algorithm(
        name or pattern.name,
        offers,
        exactness=Exactness(rounding=rounding),
        rewritten=rewritten,
        needs=multiplies(pattern),
        rounds=of_rounded if rounds else None,
    )


BFLOAT16_SUMS = words(BFLOAT16_WORDS, rounding=Rounding.MORE)
"""Products of what is bfloat16 already.

A product is exact. Of two that are added at once, instructions round the sum to odd (AArch64) or in
an order of their own; what is subnormal is zero.
"""

BF16 = words(BFLOAT16_WORDS, name="bf16", rounding=Rounding.OF_FACTORS)
"""Products of float32, each factor rounded to bfloat16 (to nearest, ties to even)."""

DOT_PRODUCTS = (*map(words, INTEGER_PATTERNS), BFLOAT16_SUMS, BF16)
