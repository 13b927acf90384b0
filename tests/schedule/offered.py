"""Which algorithms a program has, for tests."""

from __future__ import annotations

from functools import lru_cache

from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT, AppliedAlgorithm
from relay_tune.schedule.rewrites.dot_products.record import BF16
from relay_tune.schedule.rewrites.matrix_products.record import BF16X1, BF16X3, BF16X6, TWO_PARTS
from relay_tune.schedule.rewrites.matrix_products.stages import ways_to_gather
from relay_tune.tensor.program import TensorProgram

MATRIX_PRODUCTS = {
    BF16X1(): (1, False),
    BF16X1(gathered=True): (1, True),
    BF16X3(): (2, False),
    BF16X3(gathered=True): (2, True),
    BF16X3(block=16): (2, False),
    BF16X3(gathered=True, block=8): (2, True),
    BF16X6(): (3, False),
    BF16X6(gathered=True): (3, True),
}
"""The parts of each factor, and whether what a row reads is copied to one buffer."""

PLAIN_SUMS = frozenset({DIRECT, *MATRIX_PRODUCTS, BF16()})
"""Those that sum the products which are written, if of other factors."""


@lru_cache(maxsize=4)
def plan_of(program: TensorProgram) -> Plan:
    """The plan of a program that allows all algorithms, made once for all of them."""
    return plan_program(program).with_accuracy(Accuracy.RELAXED)


def algorithms(program: TensorProgram) -> tuple[AppliedAlgorithm, ...]:
    """Those of any accuracy that compute stages another way, and the direct one."""
    found = plan_of(program).algorithms
    return tuple(each for each in found if each == DIRECT or not each.keeps_stages)


def matrix_products(program: TensorProgram) -> list[AppliedAlgorithm]:
    """Those on matrix registers, whatever is worth a look."""
    ways = ways_to_gather(program, TWO_PARTS)
    return [each for each, (_, gathered) in MATRIX_PRODUCTS.items() if gathered in ways]
