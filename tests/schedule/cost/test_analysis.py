from dataclasses import replace

from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.remembered import results_for_one_build
from relay_tune.schedule.cost.analysis import analyse
from relay_tune.schedule.plan import plan_program
from tests.schedule.products import dense


@results_for_one_build()
def test_nests_without_products_for_a_pattern_are_those_of_other_algorithms() -> None:
    plan = plan_program(dense(8, 16, 32))
    nest = plan.nests[0]
    other = replace(nest, pattern=BFLOAT16_PAIRS)
    assert analyse(other, plan.constants) is analyse(nest, plan.constants)
