from relay_tune.ir.dim import Symbol
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.outer_loops import OuterLoop, outer_loops
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.size import symbolic_size

ROWS, COLUMNS = Axis("i", 100), Axis("j", 64)


def choice_with(blocks, order=(1, 0), tile=(8, 16)):
    return TileChoice(1, 16, tile, order, blocks, (0,), 1, 0)


def test_without_blocks_there_is_one_loop_for_each_axis():
    loops = outer_loops((ROWS, COLUMNS), choice_with((1, 1)))
    assert loops == (OuterLoop(1, 4, 1), OuterLoop(0, 13, 1))


def test_loops_over_blocks_are_outside_all_others():
    loops = outer_loops((ROWS, COLUMNS), choice_with((3, 1)))
    assert loops == (OuterLoop(0, 3, 5, True), OuterLoop(1, 4, 1), OuterLoop(0, 5, 1, True))


def test_blocks_of_one_tile_are_tiles_among_the_blocks():
    loops = outer_loops((ROWS, COLUMNS), choice_with((13, 2)))
    assert loops == (
        OuterLoop(1, 2, 2),
        OuterLoop(0, 13, 1),
        OuterLoop(1, 2, 1),
    )


def test_more_blocks_than_fit_evenly_become_fewer():
    assert outer_loops((ROWS, COLUMNS), choice_with((9, 1)))[0] == OuterLoop(0, 7, 2, True)


def test_blocks_of_an_open_axis_have_as_many_tiles_as_in_the_example():
    n = symbolic_size(Symbol("n"), 100)
    loops = outer_loops((Axis("i", n), COLUMNS), choice_with((3, 1)))
    assert loops == (
        OuterLoop(0, (n + 39) // 40, 5, True),
        OuterLoop(1, 4, 1),
        OuterLoop(0, 5, 1, True),
    )
