"""Reproducible use of libraries that draw from the module-level `random`."""

import random
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def module_random(rng: random.Random) -> Iterator[None]:
    """Let the module-level `random` continue the stream of `rng`, then put all back in order.

    Afterwards `rng` stands where the block left off, and the module's own state is as before.
    """
    state = random.getstate()
    random.setstate(rng.getstate())
    try:
        yield
    finally:
        rng.setstate(random.getstate())
        random.setstate(state)
