"""Sums of products of narrow integers by dot products of words, an algorithm a pattern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import WORD_PATTERNS, WordPattern
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters
from relay_tune.schedule.rewrites.dot_products.stages import has_dot_products, word_program
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.tensor.program import TensorProgram


def words(pattern: WordPattern) -> Algorithm:
    """The algorithm that brings sums to a pattern; it is exact."""

    def offers(
        program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
    ) -> Iterator[Parameters]:
        if has_dot_products(program, pattern):
            yield Parameters()

    def rewritten(program: TensorProgram, parameters: Parameters) -> TensorProgram | None:
        return word_program(program, pattern)

    def needs(machine: Machine) -> bool:
        return pattern.name in machine.dot_products

    return Algorithm(pattern.name, offers, rewritten=rewritten, needs=needs)


DOT_PRODUCTS = tuple(map(words, WORD_PATTERNS))
