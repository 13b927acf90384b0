"""What passes between the nests of Winograd's filtering beyond L2."""

from __future__ import annotations

from relay_tune.ir.dim import Symbol
from relay_tune.schedule.rewrites.winograd.cost import passing_cycles
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import input_tensor
from tests.schedule.machines import SERVER

SECOND, THIRD = SERVER.memories[1:3]


def test_what_does_not_fit_in_the_second_cache_goes_there_and_back():
    floats = 2 * SECOND.bytes // 4
    data = input_tensor("data", (symbolic_size(Symbol("h"), floats), 1), "float32")
    assert passing_cycles({data}, SERVER) == 2 * (4 * floats - SECOND.bytes) / THIRD.rate


def test_what_fits_and_what_has_a_fixed_size_costs_nothing():
    few = input_tensor("few", (symbolic_size(Symbol("h"), 8), 1), "float32")
    fixed = input_tensor("fixed", (SECOND.bytes, 1), "float32")
    assert passing_cycles({few, fixed}, SERVER) == 0
