import random

import pytest

from search.random_state import module_random


def test_the_stream_continues_across_blocks() -> None:
    rng, reference = random.Random(7), random.Random(7)
    drawn = []
    for _ in range(3):
        with module_random(rng):
            drawn.append(random.random())
        random.random()
    assert drawn == [reference.random() for _ in range(3)]


def test_an_exception_leaves_the_module_as_it_was() -> None:
    state = random.getstate()
    with pytest.raises(KeyError), module_random(random.Random(7)):
        random.random()
        raise KeyError
    assert random.getstate() == state
