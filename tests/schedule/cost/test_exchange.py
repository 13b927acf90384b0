"""What threads read from each other decides which axis is divided among them."""

from dataclasses import replace

from relay_tune.schedule.cost.analysis import analyse
from relay_tune.schedule.cost.exchange import exchange_cycles
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.schedule.plan import plan_program
from tests.schedule.machines import SERVER
from tests.schedule.products import dense

L3 = SERVER.memories[2].rate


def analysed(rows: int, steps: int, columns: int):
    plan = plan_program(dense(rows, steps, columns))
    (space,) = plan.spaces(SERVER, 2)
    choice = replace(
        plan.default_under_algorithm(SERVER, 2)[1].choices[0],
        tile=(4, 32),
        blocks=(1, 1),
        parallel=2,
    )
    return analyse(space.analysis.nest, plan.constants), choice


def test_rows_that_stay_share_only_the_weights():
    analysis, choice = analysed(64, 256, 128)
    by_rows = exchange_cycles(analysis, replace(choice, order=(0, 1)), SERVER, 2)
    assert by_rows == 256 * 128 * 4 / L3


def test_columns_that_are_divided_share_the_data_and_exchange_the_result():
    analysis, choice = analysed(64, 256, 128)
    by_columns = exchange_cycles(analysis, replace(choice, order=(1, 0)), SERVER, 2)
    assert by_columns == (64 * 256 + 64 * 128) * 4 / L3


def test_each_further_thread_reads_again():
    analysis, choice = analysed(64, 256, 128)
    two, three = (exchange_cycles(analysis, choice, SERVER, threads) for threads in (2, 3))
    assert three == 2 * two


def test_one_thread_shares_nothing():
    analysis, choice = analysed(64, 256, 128)
    assert exchange_cycles(analysis, choice, SERVER, 1) == 0
    assert exchange_cycles(analysis, replace(choice, parallel=0), SERVER, 2) == 0


def divided(rows: int, steps: int, columns: int) -> int:
    """The extent of the axis that the default schedule divides among two threads."""
    plan = plan_program(dense(rows, steps, columns))
    choice = plan.default_under_algorithm(SERVER, 2)[1].choices[0]
    axes = plan.nests[0].axes
    loop = next(loop for loop in outer_loops(axes, choice) if loop.count > 1)
    return axes[loop.place].extent


def test_few_weights_are_read_by_all_threads_and_many_are_divided():
    assert divided(3136, 64, 256) == 3136
    assert divided(56, 512, 2000) == 2000
