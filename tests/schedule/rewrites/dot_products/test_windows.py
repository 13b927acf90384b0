"""Words of windows: how many sums they serve, and that they are no copy of the data."""

from __future__ import annotations

import pytest

from relay_tune.machine.pattern import PAIRS, UNSIGNED_BY_SIGNED, WordPattern
from relay_tune.schedule.nests.made_words import made_words
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.dot_products.match import match_dot_products
from relay_tune.schedule.rewrites.dot_products.record import DOT_PRODUCTS
from relay_tune.schedule.rewrites.dot_products.stages import word_program
from relay_tune.schedule.rewrites.dot_products.windows import Window, window_of
from relay_tune.tensor.program import TensorProgram
from tests.schedule.integer_products import channels_first, convolution, dense, depthwise

BYTES = UNSIGNED_BY_SIGNED


def window(program: TensorProgram, pattern: WordPattern) -> Window | None:
    found = match_dot_products(program.outputs[0], pattern)
    return None if found is None else window_of(found)


@pytest.mark.parametrize(
    ("program", "pattern", "sums", "words", "distance"),
    [
        (depthwise((6, 5)), BYTES, 2, 1, 4),
        (depthwise((9, 9)), BYTES, 1, 1, 4),  # rows cannot be cut in pairs
        (depthwise((6, 5), stride=2), BYTES, 1, 1, 4),
        (depthwise((6, 5), dilation=2), BYTES, 1, 1, 4),
        (depthwise((8, 5), (5, 5)), BYTES, 4, 2, 4),
        (depthwise((7, 5), (5, 5)), BYTES, 1, 2, 1),
        (depthwise((6, 5), (5, 5), stride=2), BYTES, 2, 2, 3),
        (depthwise((6, 5)), PAIRS, 2, 2, 2),
        (depthwise((9, 9)), PAIRS, 1, 2, 1),
        (channels_first(), BYTES, 2, 1, 4),
    ],
)
def test_how_many_sums_a_word_serves(
    program: TensorProgram, pattern: WordPattern, sums: int, words: int, distance: int
) -> None:
    found = window(program, pattern)
    assert found is not None
    assert (found.sums, found.words, found.distance) == (sums, words, distance)


@pytest.mark.parametrize("program", [convolution(3, groups=2), convolution(8), dense()])
def test_elements_that_many_sums_use_are_words_in_memory(program: TensorProgram) -> None:
    assert window(program, BYTES) is None


def test_a_window_of_bytes_is_one_nest_that_makes_its_words() -> None:
    (algorithm,) = (each for each in DOT_PRODUCTS if each.name == BYTES.name)
    plan = plan_program(depthwise((6, 5)))
    (nest,) = plan.with_algorithm(algorithm()).nests
    assert [axis.extent for axis in nest.axes] == [3, 2, 5, 16]
    assert len(made_words(nest)) == 1
    assert word_program(depthwise((6, 5)), BYTES) is not None
