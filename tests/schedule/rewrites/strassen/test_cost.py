"""What sums of halves and their products cost beyond L2."""

from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.strassen.cost import outgrown_cycles
from relay_tune.schedule.rewrites.strassen.record import STRASSEN
from relay_tune.tensor.tensor import input_tensor
from tests.schedule.machines import SERVER
from tests.schedule.products import dense


def test_what_the_second_cache_does_not_keep_moves_several_times():
    kept = int(SERVER.coefficients.halves_kept * SERVER.memories[1].bytes) // 4
    small, large = (input_tensor("x", (count,), "float32") for count in (kept, kept + 1000))
    assert outgrown_cycles([small], SERVER) == 0
    expected = SERVER.coefficients.halves_transfers * 4000 / SERVER.memories[2].rate
    assert outgrown_cycles([large], SERVER) == expected
    assert outgrown_cycles([small, input_tensor("y", (1000,), "float32")], SERVER) == expected


def test_what_leaves_the_third_cache_is_not_counted_twice():
    whole, more = (input_tensor("x", (count << 20,), "float32") for count in (64, 128))
    assert outgrown_cycles([more], SERVER) == outgrown_cycles([whole], SERVER)


def test_many_rows_are_multiplied_directly():
    chosen = [
        plan_program(dense(rows, 256, 1024))
        .with_accuracy(Accuracy.RELAXED)
        .default_schedule(SERVER, 1)
        .algorithm
        for rows in (196, 1024)
    ]
    assert chosen == [STRASSEN(), DIRECT]
