"""What the estimate charges for weights that come from memory."""

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.waiting_weights import waiting_cycles
from tests.schedule.machines import SERVER
from tests.schedule.nest_spaces import only_constant, weighted_product


def waited(rows: int, columns: int, transfer: float = 1000.0):
    """What a product of some rows with 1024 x columns weights waits, in parts of their arrival."""
    depth = 1024
    space = weighted_product(rows, depth, columns)
    choice = TileChoice(1, 16, (rows, 16), (1, 0), (1, 1), (0,), 4, 0)
    constant = only_constant(space)
    found = waiting_cycles(space.analysis, choice, constant, transfer, SERVER, is_fetched=False)
    return found / (4 * depth * columns / SERVER.main.rate)


def test_a_matrix_from_memory_takes_its_transfer_and_nothing_else():
    assert waited(4, 8192) == 0


def test_weights_that_a_cache_could_hold_are_waited_for():
    assert waited(4, 1024) > 0


def test_weights_that_are_used_often_are_waited_for_longer_if_nothing_asks_for_them():
    assert waited(16, 1024) > waited(4, 1024)
